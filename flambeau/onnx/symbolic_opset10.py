"""The functions that write PyTorch's operators as ONNX nodes of opset 10: none yet."""
