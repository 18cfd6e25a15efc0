"""The address of a tensor's memory, by which programs know it, does not move when the tensor is read."""

import flambeau as torch


def test_readers_do_not_move_a_tensor() -> None:
    x, w = torch.randn(2, 3), torch.randn(3, 4, requires_grad=True)
    hidden = (x @ w).relu()
    place = hidden.data_ptr()
    out = hidden @ torch.ones(4, 2)
    assert hidden.data_ptr() == place == hidden.untyped_storage().data_ptr()
    out.sum().backward()
    assert w.grad is not None and hidden.data_ptr() == place


def test_copies_have_addresses_of_their_own() -> None:
    x = torch.randn(5)
    place = x.data_ptr()
    copy = x.clone()
    assert copy.data_ptr() != place == x.data_ptr()
    later = copy.clone()
    assert len({x.data_ptr(), copy.data_ptr(), later.data_ptr()}) == 3
    copy.zero_()
    later.add_(1)
    assert len({x.data_ptr(), copy.data_ptr(), later.data_ptr()}) == 3
    assert copy.tolist() == [0.0] * 5 and torch.equal(later, x + 1)


def test_keywords_of_functions_can_be_asked_for() -> None:
    assert torch.meshgrid.__kwdefaults__["indexing"] is None
