"""Creates, lists and reads a relayer with the client that openapi-python-client generates: python.py BASE_URL ID."""

import json
import os
import sys

from effect_relayer_client import AuthenticatedClient, models
from effect_relayer_client.api.relayers import relayers_create, relayers_get, relayers_list
from effect_relayer_client.api.signers import signers_create

base_url, relayer_id = sys.argv[1:]
client = AuthenticatedClient(base_url=base_url, token=os.environ["API_KEY"])

signer = signers_create.sync(
    client=client,
    body=models.CreatePlainSignerRequest(type_=models.CreatePlainSignerRequestType.PLAIN, id=f"{relayer_id}-key"),
)
assert isinstance(signer, models.SignerResponse), signer

created = relayers_create.sync(
    client=client,
    idempotency_key=f"create-{relayer_id}",
    body=models.CreateEvmRelayerRequest(
        id=relayer_id,
        name="Created by openapi-python-client",
        network="sepolia",
        network_type=models.CreateEvmRelayerRequestNetworkType.EVM,
        paused=False,
        signer_id=signer.data.id,
        policies=models.EvmPolicy(min_balance="1000", eip1559_pricing=True),
    ),
)
assert isinstance(created, models.RelayerResponse), created

listed = relayers_list.sync(client=client, page=1, per_page=100, network_type=models.NetworkType.EVM)
assert isinstance(listed, models.RelayerPageResponse), listed

read = relayers_get.sync(relayer_id, client=client)
assert isinstance(read, models.RelayerResponse), read

missing = relayers_get.sync("missing", client=client)
assert isinstance(missing, models.RelayerNotFoundError), missing

print(
    json.dumps(
        {
            "created": created.data.id,
            "usesSigner": created.data.signer_id == signer.data.id,
            "listed": relayer_id in [relayer.id for relayer in listed.data] and listed.pagination.total_items > 0,
            "policies": read.data.policies.to_dict(),
            "refused": missing.message.value,
        }
    )
)
