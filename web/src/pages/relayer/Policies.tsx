// The policies of a relayer: a form made from the schema of its network type.
import { forms } from "../../data/Forms.ts"
import { enteredOf } from "../../data/FormFields.ts"
import { unitOf } from "../../data/Chains.ts"
import { networkList } from "../../data/Networks.ts"
import type { Versioned } from "../../data/Pages.ts"
import { act, refresh } from "../../data/Registry.ts"
import { changeRelayer, relayerById, relayerExplanation } from "../../data/Relayers.ts"
import type { Relayer } from "../../data/Relayers.ts"
import { payersOf } from "../../data/TopUps.ts"
import { words } from "../../words.ts"
import { Loaded } from "../../parts/Block.tsx"
import { UnlimitedPatch } from "../../parts/UnlimitedPatch.tsx"
import { useAnswered, useQuery } from "../../parts/useAtom.ts"
import { useAllRelayers } from "../../parts/useChains.ts"

const text = words.relayers

const formNames = { evm: "EvmPolicy", solana: "SolanaPolicy", stellar: "StellarPolicy" }

/**
 * The payer is chosen from what the session sees. The present one is among them, also if the session does not see it. If not all relayers are
 * known, its id is entered.
 */
const choicesOf = (
  relayer: Relayer,
  relayers: ReadonlyArray<Relayer>
): Readonly<Record<string, ReadonlyArray<string>>> => {
  const present = relayer.policies?.top_up?.from
  const payers = payersOf(relayer, relayers)
  return { "top_up.from": present === undefined || payers.includes(present) ? payers : [present, ...payers] }
}

export const RelayerPolicies = ({ details: { value: relayer, etag } }: { readonly details: Versioned<Relayer> }) => {
  const networks = useQuery(networkList)
  const native = unitOf(relayer.network_type, relayer.network, networks.value)
  const form = forms[formNames[relayer.network_type]] ?? []
  const entered = enteredOf(form, relayer.policies ?? {}, native)
  const { rows, isAnswered } = useAllRelayers()
  // The unit of amounts decides how they are written, so that the form waits for the networks.
  const isReady = useAnswered(networks) && isAnswered
  return (
    <section class="card" aria-label={text.policies}>
      <h2>{text.policies}</h2>
      {isReady ? (
        <UnlimitedPatch
          form={form}
          native={native}
          present={{ entered, etag }}
          scope="relayers:write"
          save={(policies, seen) => act(changeRelayer(relayer.id, { policies }, seen))}
          refresh={() => refresh(relayerById(relayer.id), relayerExplanation(relayer.id))}
          {...(rows === undefined ? {} : { known: choicesOf(relayer, rows) })}
        />
      ) : (
        <Loaded query={networks}>{() => null}</Loaded>
      )}
    </section>
  )
}
