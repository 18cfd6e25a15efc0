"""``torch.fx.experimental``: what libraries ask about tracers of operators."""
