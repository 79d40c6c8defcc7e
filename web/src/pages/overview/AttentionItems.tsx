// Items that need attention: what is the case, since when, what it holds back, and at most two actions.
import type { AttentionItem } from "../../data/Attention.ts"
import { grouped } from "../../data/Amounts.ts"
import { unitOf } from "../../data/Chains.ts"
import { networkList } from "../../data/Networks.ts"
import { words } from "../../words.ts"
import { Amount } from "../../parts/Amount.tsx"
import { Code } from "../../parts/Copy.tsx"
import { Icon } from "../../parts/Icon.tsx"
import { Marked } from "../../parts/Marked.tsx"
import { Age, Until } from "../../parts/Time.tsx"
import { useQuery } from "../../parts/useAtom.ts"

const text = words.attention

type Funding = NonNullable<AttentionItem["funding"]>[number]

interface Action {
  readonly href: string
  readonly label: string
}

/** Kinds of items that stop something. The others are warnings. */
const stopping: ReadonlySet<string> = new Set(["unreadable", "decision", "relayers_disabled", "providers"])

const relayerHref = (id: string) => `/console/relayers/${encodeURIComponent(id)}`

const transactions = (code: string): Action => ({
  href: `/console/transactions?code=${encodeURIComponent(code)}`,
  label: text.transactions
})

const ofRelayers = ({ relayers: { ids } }: AttentionItem, tab: string, label: string): ReadonlyArray<Action> => {
  const [first] = ids
  return first === undefined ? [] : [{ href: `${relayerHref(first)}${tab}`, label }]
}

/** A higher limit of the policy sends what has these codes. */
const ofPolicies: ReadonlySet<string> = new Set(["gas_price_above_cap", "below_base_fee", "fee_above_cap"])

/** The relayer's page says what the service and the chain have counted, and what to accept. */
const ofCounts: ReadonlySet<string> = new Set([
  "nonce_ahead",
  "nonce_out_of_range",
  "sequence_exhausted",
  "chain_changed"
])

/** The lists that show unreadable rows, by the kind of the only one. */
const unreadableLists: Readonly<Record<string, Action>> = {
  relayer: { href: "/console/relayers", label: words.relayers.title },
  signer: { href: "/console/signers", label: words.signers.title },
  network: { href: "/console/networks", label: words.networks.title }
}

const ofUnreadable = ({ resource }: AttentionItem): ReadonlyArray<Action> => {
  const kinds = resource === undefined ? ["signer", "relayer"] : [resource.kind]
  return kinds.flatMap((kind) => unreadableLists[kind] ?? [])
}

/** Where the repair begins. */
const repairOf = (item: AttentionItem): ReadonlyArray<Action> => {
  if (item.code === "signer_unavailable") return [{ href: "/console/signers", label: words.signers.title }]
  if (ofPolicies.has(item.code)) return ofRelayers(item, "/policies", words.relayers.policies)
  if (item.code === "delegate_changed") return ofRelayers(item, "/delegation", words.delegation.title)
  if (item.code.startsWith("top_up_")) return ofRelayers(item, "/policies", words.relayers.policies)
  if (ofCounts.has(item.code)) return ofRelayers(item, "/nonces", text.counts)
  switch (item.kind) {
    case "relayers_disabled":
    case "relayers_degraded":
    case "providers":
      return item.code === "BalanceCheckFailed"
        ? ofRelayers(item, "", text.openRelayer)
        : ofRelayers(item, "/urls", words.relayers.changeUrls)
    case "unreadable":
      return ofUnreadable(item)
    case "funds":
      return ofRelayers(item, "", text.openRelayer)
    case "receiver":
      return item.resource === undefined
        ? []
        : [{ href: `/console/webhooks/${encodeURIComponent(item.resource.id)}`, label: text.deliveries }]
    case "key_expires":
      return item.resource === undefined
        ? []
        : [{ href: `/console/keys/${encodeURIComponent(item.resource.id)}`, label: words.keys.one }]
    case "service":
      return [{ href: "/console/system", label: words.system.title }]
    default:
      return []
  }
}

const actionsOf = (item: AttentionItem): ReadonlyArray<Action> => [
  ...repairOf(item),
  ...(item.transactions.count > 0 ? [transactions(item.code)] : [])
]

const Effects = ({ item: { relayers, transactions } }: { readonly item: AttentionItem }) => (
  <>
    {relayers.count > 0 && (
      <>
        {" "}
        {text.relayers(relayers.count, relayers.disabled, relayers.degraded)}{" "}
        {relayers.ids.map((id, index) => (
          <>
            {index > 0 && ", "}
            <a key={id} class="l" href={relayerHref(id)}>
              {id}
            </a>
          </>
        ))}
        {relayers.count > relayers.ids.length && " …"}
      </>
    )}
    {transactions.count > 0 && <b> {text.waiting(grouped(transactions.count))}</b>}
  </>
)

/** `network` has the type and the name of the network. */
const unitOfFunding = ({ network }: Funding, networks: Parameters<typeof unitOf>[2]) => {
  const [type = "", name] = network.split(":")
  return unitOf(type, name, networks)
}

/** How much to send where, complete, so that nobody has to open another page for it. */
const Fundings = ({ fundings }: { readonly fundings: ReadonlyArray<Funding> }) => {
  const networks = useQuery(networkList).value
  return (
    <>
      {fundings.map((funding) => (
        <div key={`${funding.network} ${funding.address}`} class="fund">
          {text.send} <Amount value={funding.missing} unit={unitOfFunding(funding, networks)} /> →{" "}
          <Code text={funding.address} full />
        </div>
      ))}
    </>
  )
}

export const AttentionRow = ({ item }: { readonly item: AttentionItem }) => {
  const isStopping = stopping.has(item.kind)
  const networks = useQuery(networkList).value
  const [funding] = item.funding ?? []
  const unit = funding === undefined ? undefined : unitOfFunding(funding, networks)
  return (
    <div class="att">
      <span class={isStopping ? "ico b" : "ico w"}>
        <Icon name={isStopping ? "bad" : "warn"} size={17} />
      </span>
      <div>
        <b>
          <bdi>
            <Marked text={item.reason} unit={unit} />
          </bdi>
        </b>
        <span class="t">
          {item.since !== undefined && (
            <>
              {text.since} <Age at={item.since} />
            </>
          )}
          {item.until !== undefined && (
            <>
              {" "}
              · {text.until} <Until at={item.until} />
            </>
          )}
        </span>
      </div>
      <div class="why">
        <code>{item.code}</code> {item.host !== undefined && <bdi>{item.host}</bdi>}
        <Effects item={item} />
        <br />
        <bdi>
          <Marked text={item.next} unit={unit} />
        </bdi>
        {item.funding !== undefined && <Fundings fundings={item.funding} />}
      </div>
      <div class="do">
        {actionsOf(item).map(({ href, label }) => (
          <a key={href} class="btn s" href={href}>
            {label}
          </a>
        ))}
      </div>
    </div>
  )
}
