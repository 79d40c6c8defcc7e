// The name of a relayer, and the webhook that gets its events.
import { forms } from "../../data/Forms.ts"
import { enteredOf } from "../../data/FormFields.ts"
import { unitOf } from "../../data/Chains.ts"
import type { Versioned } from "../../data/Pages.ts"
import { act, refresh } from "../../data/Registry.ts"
import { changeRelayer, relayerById, relayerExplanation } from "../../data/Relayers.ts"
import type { Relayer } from "../../data/Relayers.ts"
import { webhookList } from "../../data/Webhooks.ts"
import { words } from "../../words.ts"
import { Loaded } from "../../parts/Block.tsx"
import { Patch } from "../../parts/Patch.tsx"
import { useAnswered, useQuery } from "../../parts/useAtom.ts"

const text = words.relayers

/** They are the same for each network type. */
const form = (forms["CreateEvmRelayerRequest"] ?? []).filter(
  ({ name }) => name === "name" || name === "notification_id"
)

export const RelayerSettings = ({ details: { value: relayer, etag } }: { readonly details: Versioned<Relayer> }) => {
  const native = unitOf(relayer.network_type, undefined, undefined)
  const webhooks = useQuery(webhookList)
  return (
    <section class="card" aria-label={text.settings}>
      <h2>{text.settings}</h2>
      {useAnswered(webhooks) ? (
        <Patch
          form={form}
          native={native}
          present={{ entered: enteredOf(form, relayer, native), etag }}
          scope="relayers:write"
          save={(patch, seen) => act(changeRelayer(relayer.id, patch, seen))}
          refresh={() => refresh(relayerById(relayer.id), relayerExplanation(relayer.id))}
          // A session that may not read webhooks enters an id.
          {...(webhooks.value === undefined ? {} : { known: { notification_id: webhooks.value.map(({ id }) => id) } })}
        />
      ) : (
        <Loaded query={webhooks}>{() => null}</Loaded>
      )}
    </section>
  )
}
