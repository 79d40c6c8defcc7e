// The policies of a relayer: a form made from the schema of its network type.
import { forms } from "../../data/Forms.ts"
import { enteredOf } from "../../data/FormFields.ts"
import { unitOf } from "../../data/Chains.ts"
import { networkList } from "../../data/Networks.ts"
import type { Versioned } from "../../data/Pages.ts"
import { act, refresh } from "../../data/Registry.ts"
import { changeRelayer, relayerById, relayerExplanation } from "../../data/Relayers.ts"
import type { Relayer } from "../../data/Relayers.ts"
import { words } from "../../words.ts"
import { Loaded } from "../../parts/Block.tsx"
import { Patch } from "../../parts/Patch.tsx"
import { useAnswered, useQuery } from "../../parts/useAtom.ts"

const text = words.relayers

const formNames = { evm: "EvmPolicy", solana: "SolanaPolicy", stellar: "StellarPolicy" }

export const RelayerPolicies = ({ details: { value: relayer, etag } }: { readonly details: Versioned<Relayer> }) => {
  const networks = useQuery(networkList)
  const native = unitOf(relayer.network_type, relayer.network, networks.value)
  const form = forms[formNames[relayer.network_type]] ?? []
  // The unit of amounts decides how they are written, so that the form waits for the networks.
  const isReady = useAnswered(networks)
  return (
    <section class="card" aria-label={text.policies}>
      <h2>{text.policies}</h2>
      {isReady ? (
        <Patch
          form={form}
          native={native}
          present={{ entered: enteredOf(form, relayer.policies ?? {}, native), etag }}
          scope="relayers:write"
          save={(policies, seen) => act(changeRelayer(relayer.id, { policies }, seen))}
          refresh={() => refresh(relayerById(relayer.id), relayerExplanation(relayer.id))}
        />
      ) : (
        <Loaded query={networks}>{() => null}</Loaded>
      )}
    </section>
  )
}
