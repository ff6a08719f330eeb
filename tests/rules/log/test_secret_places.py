"""Where an object holds secrets: each row plants one and says that it is gone."""

import json
from dataclasses import dataclass

import pytest

from jobledger.core.log.chain import canonical
from jobledger.core.log.redaction.detection.secret_names import promises_secret
from jobledger.core.log.redaction.redact import Redactor, secrets_in
from jobledger.core.values.documents import Json, Manifest, child

KEY = b"a key of the installation, 32 by"
SECRET = "Tr0ub4dor-and-3"
NO_SECRETS = Redactor(KEY, ())
MARK = NO_SECRETS.marker(SECRET)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A document that holds SECRET."""

    rule: str
    document: Manifest


def container(**fields: Json) -> Manifest:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", **fields}]}}}}


PLACES = (
    Place(
        rule="a literal environment value is secret, whatever its name",
        document=container(env=[{"name": "COLOUR", "value": SECRET}]),
    ),
    Place(
        rule="so is that of an init container",
        document={"spec": {"initContainers": [{"env": [{"name": "A", "value": SECRET}]}]}},
    ),
    Place(
        rule="so is that of a trainer",
        document={"spec": {"trainer": {"env": [{"name": "A", "value": SECRET}]}}},
    ),
    Place(
        rule="so are variables as an object",
        document={"runtime": {"env_vars": {"COLOUR": SECRET}}},
    ),
    Place(
        rule="so are variables as assignments",
        document={"env": [f"COLOUR={SECRET}"]},
    ),
    Place(
        rule="an annotation whose key promises a secret holds one",
        document={"metadata": {"annotations": {"example.com/api-key": SECRET}}},
    ),
    Place(
        rule="a label whose key promises a secret holds one",
        document={"metadata": {"labels": {"db_password": SECRET}}},
    ),
    Place(
        rule="the head's start parameter redis-password is one",
        document={"headGroupSpec": {"rayStartParams": {"redis-password": SECRET}}},
    ),
    Place(
        rule="redisPassword.value is one",
        document={"gcsFaultToleranceOptions": {"redisPassword": {"value": SECRET}}},
    ),
    Place(
        rule="a name and value pair is one if the name promises it",
        document={"httpGet": {"httpHeaders": [{"name": "Authorization", "value": SECRET}]}},
    ),
    Place(
        rule="every datum of a Secret is one",
        document={"kind": "Secret", "stringData": {"colour": SECRET}},
    ),
    Place(
        rule="a list under a telling name holds nothing else",
        document={"passwords": ["", SECRET]},
    ),
    Place(
        rule="what follows an option in a command line is the option's value",
        document=container(args=["--db-password", SECRET, "--verbose"]),
    ),
    Place(
        rule="an option may carry its value",
        document=container(args=[f"--hf-token={SECRET}"]),
    ),
    Place(
        rule="curl takes user and password in one",
        document=container(command=["curl", "-u", f"ray:{SECRET}", "https://example.com"]),
    ),
    Place(
        rule="so does smbclient",
        document=container(args=["smbclient", "//nas/data", "-U", f"ray%{SECRET}"]),
    ),
    Place(
        rule="a short option that takes a password takes it in a list as well",
        document=container(command=["redis-cli", "-h", "head", "-a", SECRET, "ping"]),
    ),
    Place(
        rule="or in one word with it",
        document=container(command=["mysql", "-u", "ray", f"-p{SECRET}"]),
    ),
    Place(
        rule="whatever blanks other words of the list have",
        document=container(command=["sshpass", "-p", SECRET, "ssh", "worker", "nvidia-smi -L"]),
    ),
    Place(
        rule="arguments are those of the command beside them",
        document=container(command=["redis-cli"], args=["-a", SECRET]),
    ),
    Place(
        rule="an option that ends the command has its value in the first argument",
        document=container(command=["train", "--token"], args=[SECRET, "--verbose"]),
    ),
    Place(
        rule="what a program is told by its place is found in a list as well",
        document=container(command=["aws", "configure", "set", "aws_secret_access_key", SECRET]),
    ),
    Place(
        rule="curl takes the user right behind the option as well",
        document=container(command=["curl", f"-uray:{SECRET}", "https://example.com"]),
    ),
    Place(
        rule="and the option among others, in a line too",
        document={"spec": {"entrypoint": f"curl -sSu ray:{SECRET} https://example.com"}},
    ),
    Place(
        rule="a key and value pair is one if the key promises it",
        document={"config": [{"key": "db_password", "value": SECRET}]},
    ),
    Place(
        rule="so is a pair that begins with capitals",
        document={"tags": [{"Key": "ApiToken", "Value": SECRET}]},
    ),
    Place(
        rule="an entrypoint is a command line",
        document={"spec": {"entrypoint": f"python train.py --api-key '{SECRET}' --epochs 3"}},
    ),
    Place(
        rule="an address may name a password",
        document={"working_dir": f"https://ray:{SECRET}@example.com/code.zip"},
    ),
    Place(
        rule="an address may name a token alone",
        document={"pip": [f"git+https://{SECRET}@github.com/example/private.git"]},
    ),
    Place(
        rule="a bearer's token is one",
        document={"note": f"curl -H 'X-Ray-Authorization: Bearer {SECRET}'"},
    ),
    Place(
        rule="a document within a string is a document",
        document={
            "metadata": {
                "annotations": {
                    "kubectl.kubernetes.io/last-applied-configuration": json.dumps(
                        container(env=[{"name": "COLOUR", "value": SECRET}])
                    )
                }
            }
        },
    ),
    Place(
        rule="a value that stands under an environment variable's own address is one as well",
        document=container(env=[{"name": "DB", "value": f"postgres://ray:{SECRET}@db/ray"}]),
    ),
)


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.rule)
def test_no_place_keeps_a_secret(place: Place) -> None:
    """Not even where nothing else is known to be secret."""
    redacted = NO_SECRETS.document(place.document)
    assert SECRET not in canonical(redacted).decode()
    assert "redacted:" in canonical(redacted).decode()
    assert NO_SECRETS.document(redacted) == redacted


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.rule)
def test_every_secret_of_an_object_is_searched_for_elsewhere(place: Place) -> None:
    redactor = Redactor(KEY, secrets_in(place.document, {}))
    assert redactor.text(f"cannot connect with {SECRET}!", 200) == f"cannot connect with {MARK}!"


HARMLESS: tuple[tuple[str, Json], ...] = (
    ("a reference to a Secret", {"secretKeyRef": {"name": "ray-auth", "key": "password"}}),
    ("a volume made of a Secret", {"secret": {"secretName": "ray-auth", "items": []}}),
    ("Secrets for pulling images", {"imagePullSecrets": [{"name": "registry"}]}),
    ("a token's life", {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}),
    ("the mode of authentication", {"authOptions": {"mode": "token"}}),
    ("whether a token is mounted", {"automountServiceAccountToken": False}),
    ("a path to a password", {"password_file": "/run/password"}),
    ("a tokenizer and its numbers", {"config": {"tokenizer": "bert-base", "max_tokens": 4096}}),
    ("a label called env", {"labels": {"env": "staging"}}),
    ("an author", {"author": "Ada Lovelace", "authority": "example.com:443"}),
    ("an empty variable", {"env": [{"name": "PASSWORD", "value": ""}]}),
    ("a variable taken from elsewhere", {"env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]}),
    ("a command without secrets", {"entrypoint": "python train.py --tokenizer bert --epochs 3"}),
    ("prose about tokens", {"message": "basic understanding: 12 tokens per second, token ids ok"}),
    ("an address with a port", {"address": "http://head:8265/api?next=a@b"}),
    ("a name that begins like a token", {"name": "task-0123456789abcdef0123456789"}),
    (
        "a toleration of a taint",
        {"tolerations": [{"key": "secret", "operator": "Equal", "value": "nodes-1"}]},
    ),
    (
        "arguments of a command without passwords",
        container(command=["redis-cli"], args=["-n", "1"]),
    ),
    ("the name of a Secret that is there", {"auth": {"existingSecret": "db-main"}}),
    ("formatted JSON in a string", {"note": '{"a": 1.0, "b": [ ]}'}),
)


@pytest.mark.parametrize(("rule", "document"), HARMLESS, ids=[row[0] for row in HARMLESS])
def test_what_is_no_secret_stays(rule: str, document: Json) -> None:
    assert NO_SECRETS.document(document) == document, rule


def test_a_key_that_a_login_takes_by_its_place_is_found_in_a_list() -> None:
    key = "0123456789abcdef" * 2 + "01234567"
    shown = NO_SECRETS.document(container(command=["wandb", "login"], args=["--relogin", key]))
    assert key not in str(shown)


TRIVIAL = (
    "1",
    "true",
    "DEBUG",
    "info",
    "default",
    "/tmp",
    "/home/ray/data",
    "500m",
    "16Gi",
    "8265",
)


@pytest.mark.parametrize("value", TRIVIAL)
def test_an_ordinary_value_is_redacted_at_its_place_only(value: str) -> None:
    """Searching for it would shred every text."""
    manifest = container(env=[{"name": "A", "value": value}])
    assert secrets_in(manifest, {}) == frozenset()
    assert NO_SECRETS.document(manifest) == container(
        env=[{"name": "A", "value": NO_SECRETS.marker(value)}]
    )


def test_a_short_value_whose_name_promises_a_secret_is_searched_for() -> None:
    assert secrets_in({"env": [{"name": "DB_PASSWORD", "value": "a1b2"}]}, {}) == {"a1b2"}


def test_what_an_object_is_called_is_not_searched_for() -> None:
    """A variable that repeats the job's name would otherwise erase it from the whole log."""
    manifest: Manifest = {
        "kind": "RayJob",
        "metadata": {"name": "train-llama", "namespace": "research"},
        "spec": {"image": "rayproject/ray:2.9.0"},
        "env": [
            {"name": "JOB", "value": "train-llama"},
            {"name": "TEAM", "value": "research"},
            {"name": "IMAGE", "value": "rayproject/ray:2.9.0"},
        ],
    }
    assert secrets_in(manifest, {}) == frozenset()
    assert child(NO_SECRETS.document(manifest), "metadata") == manifest["metadata"]


YAML = "env_vars:\n  COLOUR: vermilion-7\npip: [requests]\n"


def test_a_runtime_environment_is_kept_in_its_parsed_form() -> None:
    parsed: Json = {"env_vars": {"COLOUR": "vermilion-7"}, "pip": ["requests"]}
    manifest: Manifest = {"spec": {"runtimeEnvYAML": YAML, "entrypoint": "echo vermilion-7"}}
    redactor = Redactor(KEY, secrets_in(manifest, parsed))
    mark = redactor.marker("vermilion-7")
    assert redactor.manifest(manifest, parsed) == {
        "spec": {
            "runtimeEnvYAML": {"env_vars": {"COLOUR": mark}, "pip": ["requests"]},
            "entrypoint": "echo vermilion-7",
        }
    }


def test_a_runtime_environment_that_cannot_be_read_is_kept_as_a_digest() -> None:
    broken = f"{YAML}  API_PASSWORD: verdigris-8\n : ]"
    manifest: Manifest = {"spec": {"runtimeEnvYAML": broken}}
    redactor = Redactor(KEY, secrets_in(manifest, None))
    assert redactor.manifest(manifest, None) == {
        "spec": {"runtimeEnvYAML": redactor.marker(broken)}
    }
    assert "verdigris" not in redactor.text("line 3: verdigris-8", 99)


def test_a_list_of_secrets_under_a_telling_name_may_hold_objects() -> None:
    """Objects there tell where a secret lies, and their other parts stay."""
    reference: Json = {"name": "ray-auth", "key": "password"}
    assert NO_SECRETS.document({"credentials": [reference, {"value": {"a": [SECRET, None]}}]}) == {
        "credentials": [reference, {"value": {"a": [MARK, None]}}]
    }


def test_a_variable_that_is_no_assignment_is_a_text() -> None:
    document: Json = {"env": ["COLOUR", "EMPTY=", 7, {"name": "A"}], "other": {"env": "staging"}}
    assert NO_SECRETS.document(document) == document


def test_a_number_at_a_secret_place_is_a_secret() -> None:
    manifest: Manifest = {"env_vars": {"PIN_PASSWORD": 123456.0, "HUGE": 10**5000}}
    assert secrets_in(manifest, {}) == {"123456"}
    assert NO_SECRETS.document({"password": 123456.0}) == {"password": NO_SECRETS.marker("123456")}


def test_a_secret_said_in_an_encoding_is_searched_for_without_it() -> None:
    assert secrets_in({"a": "redis://:p%40ss%2Fword@head"}, {}) >= {"p@ss/word"}
    said: Manifest = {"a": r'{"password": "p\"ss\u0020word", '}
    assert secrets_in(said, {}) >= {'p"ss word'}


def test_a_secret_that_is_a_document_is_searched_for_with_its_own_secrets() -> None:
    account = json.dumps({"client": "ray", "private_key": SECRET})
    assert secrets_in(container(env=[{"name": "ACCOUNT", "value": account}]), {}) == {SECRET}
    telling = container(env=[{"name": "ACCOUNT_SECRET", "value": account}])
    assert secrets_in(telling, {}) == {account, SECRET}


def test_an_encoding_that_cannot_be_read_is_searched_for_as_it_is() -> None:
    said: Manifest = {"replicas": 3, "log": r"password=p\qss%word"}
    assert secrets_in(said, {}) == {r"p\qss%word"}


ORDINARY = (
    "encoder",
    "meta-llama/Llama-3.1-8B-Instruct",
    "third-time-lucky-5fxqq-head-svc",
    "ml.p4d.24xlarge",
    "rayproject/ray:2.9.0-py310-gpu",
    "expandable_segments:True,max_split_size_mb:512",
    "--lr 0.0003 --optim adamw_8bit",
    "s3://ml-prod/ckpt/step-1000",
    "2026-11-22T22:10:16Z",
    "123456789012",
    "a sentence about nothing in particular",
)


@pytest.mark.parametrize("value", ORDINARY)
def test_an_ordinary_value_under_an_ordinary_name_is_no_secret(value: str) -> None:
    """It is a digest at its place and legible in every message: `KeyError: 'encoder'`."""
    manifest = container(env=[{"name": "LAYERS", "value": value}])
    redactor = Redactor(KEY, secrets_in(manifest, None))
    assert redactor.text(f"KeyError: '{value}'", 200) == f"KeyError: '{value}'"
    assert value not in canonical(redactor.document(manifest)).decode()


DRAWN = (
    SECRET,
    "9f8a7b6c5d4e3f2a1b0c",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYFAKEFAKEKEY",
    "A1B2C-D3E4F-G5H6I",
    "P@ssw0rd!2026",
    "JBSWY3DPEHPK3PXP",
    "bm90LWEtcmVhbC1zZWNyZXQ=",
    "xkqjzvwpfhgtrmnb",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
)


@pytest.mark.parametrize("value", DRAWN)
def test_what_looks_drawn_is_hidden_everywhere_whatever_its_name(value: str) -> None:
    redactor = Redactor(KEY, secrets_in(container(env=[{"name": "COLOUR", "value": value}]), None))
    assert redactor.text(f"KeyError: '{value}'", 200) == f"KeyError: '{redactor.marker(value)}'"
    assert redactor.text(f"see {value} there", 200) == f"see {redactor.marker(value)} there"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RUN_ID", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
        ("GIT_COMMIT", "e108f8fa9b2c3d4e5f60718293a4b5c6d7e8f901"),
        ("DATA_SHA256", "9f8a7b6c5d4e3f2a1b0c9f8a7b6c5d4e"),
    ],
)
def test_a_hexadecimal_number_under_the_name_of_an_id_is_one(name: str, value: str) -> None:
    assert secrets_in(container(env=[{"name": name, "value": value}]), None) == frozenset()


NAMES = (
    *("PASSWORD", "SMTP_PASS", "DB_PWD", "HF_TOKEN", "hfToken", "GITHUB_PAT", "api-key", "apiKey"),
    *("aws.secretAccessKey", "WANDB_API_KEY", "client_secret", "SESSION_COOKIE", "my_jwt", "DSN"),
    *("db_dsn", "SENTRY_DSN", "signature", "sig", "auth", "x-auth", "authorization", "oauth2"),
    *(
        "credentials",
        "creds",
        "aws_creds",
        "passphrase",
        "passcode",
        "conn_str",
        "connectionString",
    ),
    *("AccountKey", "SharedAccessKey", "dockerconfigjson", "DOCKER_AUTH_CONFIG", "token_value"),
    *("secretName", "tokenizer", "max_tokens", "eos_token", "pad_token_id", "forward_pass", "path"),
    *("password_file", "author", "authority", "primary_key", "key", "bypass", "NoCredentialsError"),
    *(
        "pattern",
        "signal",
        "monkey",
        "token_count",
        "compass",
        "next_page_token",
        "cookies_enabled",
    ),
)


@pytest.mark.parametrize("name", NAMES)
def test_names_in_texts_and_in_documents_go_by_one_list(name: str) -> None:
    said = NO_SECRETS.text(f"a {name}=Swordfish-9 b", 200)
    assert ("Swordfish" not in said) == promises_secret(name), name
    pair = NO_SECRETS.text(f"- name: {name}\n  value: Swordfish-9\n", 200)
    assert ("Swordfish" not in pair) == promises_secret(name), name


def test_a_template_that_is_almost_too_deep_to_be_read_is_cut_off_as_all_else() -> None:
    redactor = Redactor(KEY)
    for levels in range(880, 1_000):
        held = '{"template":{"a":' + "[" * levels + "1" + "]" * levels + "}}"
        manifest = {"metadata": {"annotations": {"note": held}}}
        assert secrets_in(manifest, None) == frozenset()
        assert redactor.manifest(manifest, None)
