"""Components whose every field tries to run a script in the reader's browser."""
import json

SCRIPT = "<script>window.xss = 1</script>"
IMAGE = "<img src=x onerror=\"window.xss = 1\">"
BREAKOUT = "\"'></textarea></title></pre></style>" + SCRIPT + IMAGE
LINK = "javascript:window.xss=1"
MARKDOWN = (f"[click]({LINK}) ![x](http://127.0.0.1:9/x.png) {IMAGE} <a href='{LINK}'>x</a> "
            f"`{SCRIPT}`")
TEXT = json.dumps(BREAKOUT)
URI = json.dumps("https://example.org/" + IMAGE)

HOSTILE_JOB = f"""\
type: job
name: hostile
version: {TEXT}
contributor: {TEXT}
description: |
  # {BREAKOUT}
  {MARKDOWN}
{TEXT}: {TEXT}
parameters:
  {TEXT}: {TEXT}
  text: {json.dumps(BREAKOUT * 3)}
  link: "{LINK}"
prerequisites:
  - name: image
    type: dockerimage
    contributor: {TEXT}
    description: {TEXT}
    uri: busybox:1
  - name: input
    type: data
    description: {TEXT}
    uri:
      - "{LINK}"
      - {URI}
tasks:
  - role: main
    dockerimage: image
    resource:
      resourcePerInstance: {{cpu: 1, memoryMB: 100, gpu: 0}}
    command:
      - {TEXT}
"""
HOSTILE_DATA = f"""\
type: data
name: hostile_data
version: 1.0.0
contributor: {TEXT}
description: {TEXT}
uri:
  - "{LINK}"
  - {URI}
"""
HOSTILE_FILES = {
    "job/hostile.yaml": HOSTILE_JOB,
    "data/hostile_data.yaml": HOSTILE_DATA,
    "job/<img src=x onerror=alert(1)>.yaml": f"type: {TEXT}\n{TEXT}: 1\n",
}
