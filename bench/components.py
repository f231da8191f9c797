"""A large made-up marketplace: the same seed gives the same components and the same history."""
from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

FRAMEWORKS = ("TensorFlow PyTorch Keras MXNet Caffe2 Chainer CNTK JAX PaddlePaddle MindSpore "
              "XGBoost LightGBM sklearn Horovod DeepSpeed ONNX").split()
DATASETS = ("cifar10 cifar100 mnist imagenet coco squad wikitext librispeech kitti celeba ucf101 "
            "movielens adult20 pascal_voc lsun openwebtext cityscapes svhn glue").split()
MODELS = ("ResNet50 VGG16 BERT GPT2 UNet YOLOv3 LSTM Transformer MobileNetV2 DenseNet EfficientNet "
          "WaveNet StyleGAN2 FasterRCNN Word2Vec InceptionV3 AlexNet Seq2Seq").split()
TASKS = ("training serving evaluation distributed benchmark finetuning quantization export tuning "
         "preprocessing visualization segmentation detection translation").split()
CHINESE = ("图像 分类 训练 模型 数据集 分布式 深度 学习 语音 识别 自然语言 处理 目标 检测 推荐 系统 "
           "强化 预处理 评估 部署 服务 神经网络 优化 参数 示例 教程 单机 多卡 机器 翻译 手写 数字").split()
PEOPLE = [f"{first}.{last}" for first in "ada ben chen dora emil fang grace hugo".split()
          for last in "smith wang mueller rossi li garcia novak tanaka".split()]
TYPES = ("job", "job", "job", "job", "data", "data", "script", "script", "dockerimage")


@dataclass(frozen=True)
class Made:
    """One component; `topics` are the words that its name is made of."""

    type: str
    name: str
    contributor: str
    topics: tuple[str, ...]
    is_chinese: bool
    versions: int


class Generator:
    """Components of a marketplace with `versions` versions in all."""

    def __init__(self, versions: int, *, seed: int = 1) -> None:
        self.random = random.Random(seed)
        syllables = [a + b for a in "ba ce di fo gu ha ki lo mu ne pa ra se to vi".split()
                     for b in ("n", "r", "st", "l", "m", "ng", "x", "")]
        self.vocabulary = ["".join(self.random.choices(syllables, k=self.random.randint(1, 3)))
                           for _ in range(15_000)]
        self.weights = [1 / (rank + 3) for rank in range(len(self.vocabulary))]
        self.made = list(self._make(versions))

    def _make(self, versions: int) -> Iterator[Made]:
        taken: set[tuple[str, str]] = set()
        while versions > 0:
            made = self._one(min(versions, 1 + int(self.random.expovariate(1 / 1.6))))
            if (made.type, made.name) not in taken:
                taken.add((made.type, made.name))
                versions -= made.versions
                yield made

    def _one(self, versions: int) -> Made:
        choose = self.random.choice
        topics = [choose(FRAMEWORKS), choose(DATASETS), choose(MODELS), choose(TASKS)]
        self.random.shuffle(topics)
        topics = topics[:self.random.choice((2, 3, 3, 4))]
        if self.random.random() < 0.5:
            topics.append(str(self.random.randint(1, 300)))
        return Made(type=choose(TYPES), name=self._styled(topics), contributor=choose(PEOPLE),
                    topics=tuple(topics), is_chinese=self.random.random() < 0.15,
                    versions=versions)

    def _styled(self, topics: list[str]) -> str:
        style = self.random.random()
        if style < 0.5:
            return "_".join(topics).lower()
        if style < 0.77:
            return "-".join(topics).lower()
        titled = "".join(topic[:1].upper() + topic[1:] for topic in topics)
        return titled if style < 0.92 else titled.lower()

    def text(self, made: Made, version: int) -> str:
        lines = [f"name: {made.name}", f"type: {made.type}", f'version: "1.{version}.0"',
                 f"contributor: {made.contributor}", f"description: {self._description(made)}"]
        return "\n".join([*lines, *self._body(made), ""])

    def _description(self, made: Made) -> str:
        words = self.random.choices(self.vocabulary, self.weights, k=self.random.randint(10, 120))
        topics = " ".join(made.topics)
        if made.is_chinese:
            return topics + " " + "".join(
                self.random.choices(CHINESE, k=self.random.randint(8, 40)))
        return f"{topics} {' '.join(words)}"

    def _body(self, made: Made) -> list[str]:
        word = self.random.choice(self.vocabulary)
        if made.type == "dockerimage":
            return [f"uri: openpai/{word}:{made.versions}"]
        if made.type != "job":
            return [f"uri: https://files.example.org/{word}/{made.name}.zip"]
        return ["parameters:", f"  epochs: {made.versions}", f"  {word}_rate: 0.1",
                "prerequisites:",
                f"  - {{name: image, type: dockerimage, uri: 'openpai/{word}:py3'}}",
                "tasks:", "  - role: main", "    dockerimage: image", "    resource:",
                "      instances: 1",
                "      resourcePerInstance: {cpu: 1, memoryMB: 1024, gpu: 0}",
                "    command:", f"      - python {word}.py --model {made.topics[0]} --epochs "
                "$$epochs$$"]

    def write_repository(self, folder: Path) -> None:
        """A bare repository with a commit for each round of versions."""
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
        rounds = max(made.versions for made in self.made)
        stream = b"".join(self._commit(number) for number in range(rounds))
        subprocess.run(["git", "-C", str(folder), "fast-import", "--quiet"], input=stream,
                       check=True)

    def _commit(self, number: int) -> bytes:
        parts = [f"commit refs/heads/main\ncommitter A <a@b> {1_700_000_000 + number * 3600} "
                 f"+0000\ndata 1\nx\n".encode()]
        for made in self.made:
            if number < made.versions:
                text = self.text(made, number).encode()
                parts.append(f"M 100644 inline {made.type}/{made.name}.yaml\n"
                             f"data {len(text)}\n".encode() + text + b"\n")
        return b"".join(parts)
