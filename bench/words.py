"""What made-up components are about: the topics of a marketplace, as people write them."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Topic:
    """`word` as names have it, `title` as sentences do, `chinese` as Chinese ones do, or empty."""

    word: str
    title: str
    chinese: str = ""


def _topics(text: str) -> tuple[Topic, ...]:
    return tuple(Topic(*part.split("=")) for part in " ".join(text.split()).split("; "))


FRAMEWORKS = _topics("""
    tensorflow=TensorFlow; pytorch=PyTorch; keras=Keras; mxnet=MXNet; caffe2=Caffe2;
    chainer=Chainer; cntk=CNTK; jax=JAX; paddlepaddle=PaddlePaddle; mindspore=MindSpore;
    xgboost=XGBoost; lightgbm=LightGBM; sklearn=sklearn; horovod=Horovod; deepspeed=DeepSpeed;
    onnx=ONNX""")
DATASETS = _topics("""
    cifar10=CIFAR-10; cifar100=CIFAR-100; mnist=MNIST; imagenet=ImageNet; coco=COCO; squad=SQuAD;
    wikitext=WikiText; librispeech=LibriSpeech; kitti=KITTI; celeba=CelebA; ucf101=UCF101;
    movielens=MovieLens; adult=Adult; pascal_voc=Pascal VOC; lsun=LSUN; openwebtext=OpenWebText;
    cityscapes=Cityscapes; svhn=SVHN; glue=GLUE""")
MODELS = _topics("""
    resnet50=ResNet-50; vgg16=VGG16; bert=BERT; gpt2=GPT-2; unet=U-Net; yolov3=YOLOv3; lstm=LSTM;
    transformer=Transformer; mobilenet=MobileNet; densenet=DenseNet; efficientnet=EfficientNet;
    wavenet=WaveNet; stylegan2=StyleGAN2; fasterrcnn=Faster R-CNN; word2vec=word2vec;
    inceptionv3=Inception v3; alexnet=AlexNet; seq2seq=seq2seq""")
TASKS = _topics("""
    training=training=模型训练; serving=serving=在线服务; evaluation=evaluation=效果评估;
    distributed=distributed training=分布式训练; benchmark=benchmark=性能测试;
    finetuning=fine-tuning=微调; quantization=quantization=量化; export=export=模型导出;
    tuning=hyperparameter tuning=超参数调优; preprocessing=preprocessing=数据预处理;
    visualization=visualization=可视化; segmentation=segmentation=图像分割;
    detection=object detection=目标检测; translation=translation=机器翻译;
    classification=image classification=图像分类; recognition=speech recognition=语音识别;
    recommendation=recommendation=推荐系统; sentiment=sentiment analysis=情感分析""")
PEOPLE = [f"{first}.{last}" for first in "ada ben chen dora emil fang grace hugo".split()
          for last in "smith wang mueller rossi li garcia novak tanaka".split()]
TYPES = ("job", "job", "job", "job", "data", "data", "script", "script", "dockerimage")
PARAMETERS = ("learning_rate", "batch_size", "epochs", "dropout", "momentum", "weight_decay",
              "num_layers", "hidden_size", "warmup_steps", "max_length", "beam_width",
              "sample_rate", "crop_size", "temperature")
PHRASES = ("trained from scratch", "with mixed precision", "on a single machine",
           "for low latency", "with early stopping", "from a small checkpoint",
           "without any labels", "in half an hour")
ENGLISH = {
    "job": "{titles}. A job {phrase}, ready to run.",
    "data": "{titles}. The dataset as its authors published it, checked and packed again.",
    "script": "{titles}. Scripts {phrase}, easy to change.",
    "dockerimage": "{titles}. A docker image with all libraries installed."}
CHINESE = {
    "job": "{titles}的完整作业，可以直接运行。", "data": "{titles}的数据集，已经检查并重新打包。",
    "script": "{titles}的脚本，容易修改。", "dockerimage": "{titles}的镜像，已安装所有依赖。"}
CHINESE_FILLER = ("单机 多卡 示例 教程 参数 优化 深度 学习 神经网络 部署 速度 准确率 实验 结果 环境 "
                  "安装 步骤 代码 文件 支持 版本 更新 简单 快速 入门").split()
