"""The two scripts that a node of a Flux job runs: one installs Flux, one starts its broker.

They do what the scripts of Trainer v2.3 do, in our own words: the same files in the same places,
the same calls of Flux. A value of a user's goes into them as text, never as a piece of a script.
"""

import json
from dataclasses import dataclass

from jobledger.core.trainjob.names import NODE

PORT = 8050


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """What Flux's brokers are told."""

    job: str
    namespace: str
    hosts: str
    """All host names, as Flux writes a list of them."""
    device: str
    """The network device that brokers listen at."""
    queue: str
    """In which order Flux takes its own jobs, as `fcfs`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How the job's command is run."""

    job: str
    nodes: int
    processes: int
    """On each node."""
    gpus: int
    """On each node; 0: none."""


def hosts_of(job: str, nodes: int) -> str:
    """Return the host names of all nodes, as Flux writes a list of them."""
    return f"{job}-{NODE}-0-[{_first(nodes)}]"


def _first(count: int) -> str:
    return "0" if count == 1 else f"0-{count - 1}"


def broker_config(broker: Broker) -> str:
    """Return the brokers' configuration (TOML)."""
    domain = f"{broker.job}.{broker.namespace}.svc.cluster.local"
    return f"""\
[access]
allow-guest-user = true
allow-root-owner = true
[resource]
path = "/mnt/flux/config/etc/flux/system/R"
[bootstrap]
curve_cert = "/mnt/flux/config/etc/curve/curve.cert"
default_port = {PORT}
default_bind = {_toml(f"tcp://{broker.device}:%p")}
default_connect = {_toml(f"tcp://%h.{domain}:%p")}
hosts = [{{ host = {_toml(broker.hosts)} }}]
[archive]
dbpath = "/mnt/flux/config/var/lib/flux/job-archive.sqlite"
period = "1m"
busytimeout = "50s"
[sched-fluxion-qmanager]
queue-policy = {_toml(broker.queue)}"""


def _toml(value: str) -> str:
    """Return a string of TOML on one line: its escapes hold those of JSON, but for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def installer(broker: Broker) -> str:
    """Return the script of the init container: Flux and its configuration, for all to share."""
    return f"""\
#!/bin/bash
# Copies Flux from this image to the volume that the node shares, and writes its configuration.
flux=/mnt/flux
config="$flux/config"
system="$config/etc/flux/system"
mkdir -p /opt/view/bin "$flux/view" "$system/cron.d" "$config/etc/flux/config" \\
  "$config/etc/curve" "$config/run/flux" "$config/var/lib/flux"

echo '{broker.hosts}' > "$system/hostlist"
cat > "$config/etc/flux/config/broker.toml" <<'END_OF_BROKER'
{broker_config(broker)}
END_OF_BROKER
echo "The configuration of Flux's broker on $(hostname):"
cat "$config/etc/flux/config/broker.toml"

cp -R "/opt/views/._view/$(ls /opt/views/._view)"/* "$flux/view"
cp -R /opt/software "$flux/"
touch "$flux/flux-operator-done.txt"
echo "Flux is installed."
"""


def entrypoint(run: Run) -> str:
    """Return the script of the container that trains.

    The first node runs the job's command, or a broker alone if there is none; the others follow.
    """
    resources = f"--cores={_first(run.processes)}"
    flags = f"-N {run.nodes} -n {run.nodes * run.processes}"
    if run.gpus > 0:
        resources += f" --gpu={_first(run.gpus)}"
        flags += f" -g {run.gpus}"
    return (
        _ENTRYPOINT.replace("{lead}", f"{run.job}-{NODE}-0-0")
        .replace("{resources}", resources)
        .replace("{flags}", flags)
    )


_ENTRYPOINT = """\
#!/bin/bash
# Starts Flux's broker; the first node runs the given command on all of them.
flux=/mnt/flux
view="$flux/view"
config="$flux/config"
lead='{lead}'
flags='{flags}'
command="$*"

# The node's own programs come first.
export PATH="$PATH:$view/bin"
cp -R "$flux"/software/* /opt/software/

library=$(find "$view" -maxdepth 2 -type d -path "$view/lib/python3*" 2> /dev/null)
python="$view/bin/$(basename "$library")"
if [ -f "$python" ]; then
  rm -rf "$view/bin/python3" "$view/bin/python"
  ln -s "$python" "$view/lib/python" || true
  ln -s "$python" "$view/lib/python3" || true
fi
export PYTHONPATH="${PYTHONPATH:-}:$library/site-packages"
export FLUX_RC_EXTRA="$view/etc/flux/rc1.d"

# For whoever looks in from a shell: the scheduler, and the environment.
cat > "$flux/load-fluxion.sh" <<END
flux module remove sched-simple
flux module load sched-fluxion-resource
flux module load sched-fluxion-qmanager
END
cat > "$flux/flux-view.sh" <<END
#!/bin/bash
export PATH=$PATH
export PYTHONPATH=$PYTHONPATH
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}:$view/lib
export fluxsocket=local://$config/run/flux/local
END

# Flux takes a key that its owner alone may read.
cp /curve/curve.cert "$config/etc/curve/curve.cert"
chmod go-r "$config/etc/curve/curve.cert"
chown -R "$(id -u)" "$config/etc/curve/curve.cert"

system="$config/etc/flux/system"
hosts=$(cat "$system/hostlist")
flux R encode --hosts="$hosts" {resources} > /tmp/R
mv /tmp/R "$system/R"

export STATE_DIR="$config/var/lib/flux"
export FLUX_OUTPUT_DIR=/tmp/fluxout
mkdir -p "$STATE_DIR" "$FLUX_OUTPUT_DIR" "$system/cron.d"

settings="$config/etc/flux/config"
options=(-Scron.directory="$system/cron.d" -Stbon.fanout=256 -Srundir="$config/run/flux"
  -Sstatedir="$STATE_DIR" -Slocal-uri="local://$config/run/flux/local"
  -Slog-stderr-level=0 -Slog-stderr-mode=local)

# Flags and command are split into words: they came as one.
if [ "$(hostname)" != "$lead" ]; then
  until flux start -o --config "$settings" "${options[@]}"; do
    echo "The broker ended with $?; again in 15 s."
    sleep 15
  done
elif [ -z "$command" ]; then
  flux broker --config-path "$settings" "${options[@]}"
else
  echo "flux run $flags $command"
  flux start -o --config "$settings" "${options[@]}" flux run $flags $command
fi
touch "$flux/flux-operator-complete.txt"
"""
