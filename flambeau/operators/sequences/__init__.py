"""Sequences: recurrent networks, attention, embeddings."""

from . import attention, embedding, embedding_bags, multi_head_attention, recurrent
