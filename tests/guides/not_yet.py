"""What the guides use and flambeau does not have yet. An entry fails the tests as soon as it works.

What these blocks do without a GPU (raise, warn, disable themselves) is not on this list: it is tested.
"""

NOT_YET = {
    "000_research/data-parallel::trains_in_two_processes": "torch.distributed and DistributedDataParallel",
    "000_research/profiler::lists_the_operators": "operators by PyTorch's names in the profiler's table",
    "001_practice/data-parallel::trains_in_one_process": "torch.distributed and DistributedDataParallel",
    "001_practice/fully-sharded::wraps_the_model": "torch.distributed.fsdp",
    "001_practice/export::saves_a_script": "torch.jit.script",
    "003_advanced/script::saves_a_script": "torch.jit.script",
    "004_autograd/distributed-gradients::reduces_in_one_process": "torch.distributed",
}
