"""Keys that seal tokens: bound to the user, in a file of one's own or in the environment."""
import base64
import os
import stat
import threading

import pytest

from registry.config import Secret, Settings
from registry.errors import RegistryError
from registry.sealing import Keys, KeyStore, Sealed, UnreadableError

TOKEN = Secret("ghp_" + "t" * 36)


def key(letter):
    return base64.b64encode(letter.encode() * 32).decode()


def store(home, keys=""):
    return KeyStore(Settings.from_environ({"PAISHARE_HOME": str(home),
                                           "PAISHARE_SEALING_KEY": keys}))


def test_only_the_same_user_opens_what_was_sealed(tmp_path):
    with store(tmp_path).reading() as keys:
        sealed = keys.seal(TOKEN, user_id=7)
        assert keys.open(sealed, user_id=7) == TOKEN
        assert TOKEN.reveal().encode() not in sealed.data
        with pytest.raises(UnreadableError):
            keys.open(sealed, user_id=8)


@pytest.mark.parametrize("place", [0, 5, 12, 30, -1])
def test_what_was_changed_does_not_open(tmp_path, place):
    with store(tmp_path).reading() as keys:
        sealed = keys.seal(TOKEN, user_id=7)
        data = bytearray(sealed.data)
        data[place] ^= 1
        with pytest.raises(UnreadableError):
            keys.open(Sealed(key_id=sealed.key_id, data=bytes(data)), user_id=7)


@pytest.mark.parametrize("data", [b"", b"short"])
def test_what_is_no_sealed_text_does_not_open(tmp_path, data):
    with store(tmp_path).reading() as keys, pytest.raises(UnreadableError):
        keys.open(Sealed(key_id=keys.ids[0], data=data), user_id=7)


def test_the_same_token_is_never_sealed_to_the_same_bytes(tmp_path):
    with store(tmp_path).reading() as keys:
        assert keys.seal(TOKEN, user_id=7).data != keys.seal(TOKEN, user_id=7).data


def test_the_key_is_made_once_and_read_by_its_owner_alone(tmp_path):
    found, at_once = [], threading.Barrier(8)

    def read():
        at_once.wait()
        with store(tmp_path).reading() as keys:
            found.append(keys.ids)
    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1
    assert stat.S_IMODE((tmp_path / "sealing.key").stat().st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == ["sealing.key", "sealing.lock"]


def test_a_key_that_others_can_read_is_refused(tmp_path):
    with store(tmp_path).reading():
        pass
    (tmp_path / "sealing.key").chmod(0o640)
    with pytest.raises(RegistryError, match="chmod 600"), store(tmp_path).reading():
        pass


@pytest.mark.parametrize("text", ["", "no key", base64.b64encode(b"short").decode()])
def test_a_file_that_holds_no_key_says_what_to_do(tmp_path, text):
    path = tmp_path / "sealing.key"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(RegistryError, match="Bring it back"), store(tmp_path).reading():
        pass


def test_a_key_of_the_environment_makes_no_file(tmp_path):
    with store(tmp_path, key("a")).reading() as keys:
        sealed = keys.seal(TOKEN, user_id=7)
    with store(tmp_path, f"{key('b')}, {key('a')}").reading() as keys:
        assert keys.open(sealed, user_id=7) == TOKEN
        assert keys.seal(TOKEN, user_id=7).key_id != sealed.key_id
    assert os.listdir(tmp_path) == []


def test_a_key_never_shows_itself():
    keys = Keys([Secret(key("a"))])
    assert key("a") not in f"{keys!r} {keys} {vars(keys)['_texts']}"


@pytest.mark.parametrize("value", ["short", "!" * 44, key("a") + ",x", "a" * 43])
def test_a_wrong_key_of_the_environment_is_refused_without_being_shown(value):
    with pytest.raises(RegistryError, match="PAISHARE_SEALING_KEY") as refused:
        Settings.from_environ({"PAISHARE_SEALING_KEY": value})
    assert value not in str(refused.value)
