// The summary of a relayer: its balance and providers as the chain sees them, and its open transactions.
import type { Unit } from "../../data/Amounts.ts"
import { isOfNetwork } from "../../../../src/client/Networks.ts"
import { privateUrlsOf, unitOf } from "../../data/Chains.ts"
import { isAboutRelayer } from "../../data/EventFilter.ts"
import { networkList } from "../../data/Networks.ts"
import type { Versioned } from "../../data/Pages.ts"
import { relayerExplanation, relayerStatus } from "../../data/Relayers.ts"
import type { Relayer, RelayerStatus, TopUpReport } from "../../data/Relayers.ts"
import { latency } from "../../data/Times.ts"
import { may, sessionState } from "../../data/Session.ts"
import { openStatuses, transactionPage } from "../../data/Transactions.ts"
import { words } from "../../words.ts"
import { Amount } from "../../parts/Amount.tsx"
import { Block } from "../../parts/Block.tsx"
import { Code } from "../../parts/Copy.tsx"
import { targetsOf } from "../../data/TopUps.ts"
import { useRelayers } from "../../parts/useChains.ts"
import { Empty, List, WithProblem } from "../../parts/List.tsx"
import type { Column } from "../../parts/List.tsx"
import { Facts } from "../../parts/Page.tsx"
import { ResourceLink } from "../../parts/ResourceLink.tsx"
import { Tag, mark } from "../../parts/Tag.tsx"
import { Age, At, Until } from "../../parts/Time.tsx"
import { TransactionRows } from "../../parts/TransactionRows.tsx"
import { useAtom, useQuery } from "../../parts/useAtom.ts"
import { useEventsAbout } from "../../parts/useEvents.ts"
import { RelayerBalance } from "./Balance.tsx"

const text = words.relayers

type Provider = RelayerStatus["providers"][number]

const providerColumns: ReadonlyArray<Column<Provider>> = [
  {
    head: text.providerUrl,
    card: "title",
    cell: ({ url, error }) => <WithProblem text={url} problem={error} />
  },
  {
    head: text.providerState,
    card: "state",
    cell: ({ failed, code }) => (
      <Tag {...(failed ? mark("bad", code ?? text.problem) : mark("ok", words.networks.states.working))} />
    )
  },
  {
    head: text.latency,
    isNumber: true,
    cell: ({ latency_ms }) => (latency_ms === undefined ? "–" : latency(latency_ms))
  },
  { head: text.breaker, card: "hidden", cell: ({ breaker }) => <code>{breaker}</code> },
  { head: text.weight, isNumber: true, card: "hidden", cell: ({ weight }) => weight }
]

/** How far the account has counted its transactions, as its network calls it. */
const countOf = (status: RelayerStatus): readonly [name: string, count: string | undefined] =>
  isOfNetwork("stellar", status)
    ? [text.sequence, status.sequence_number?.toString()]
    : [text.nonce, isOfNetwork("evm", status) ? status.nonce?.toString() : undefined]

/** Which URLs get private sends, and which sends those are. `urls`: undefined if the session does not see them. */
const privatelyOf = (relayer: Relayer, urls: ReadonlyArray<string> | undefined) => {
  const policies = isOfNetwork("evm", relayer) ? relayer.policies : undefined
  const isEach = policies?.private_transactions === true
  if (urls === undefined || (urls.length === 0 && !isEach)) return undefined
  if (urls.length === 0) return <Tag {...mark("bad", text.noPrivateUrl)} />
  return (
    <>
      <bdi class="wrap">{urls.join(", ")}</bdi>{" "}
      <span class="mut">{isEach ? text.eachPrivate(policies.private_fallback_after_seconds) : text.somePrivate}</span>
    </>
  )
}

/** From which relayer the account is topped up, what is left of its limit, and what keeps it from being topped up. */
const TopUp = ({
  topUp,
  unit,
  payer
}: {
  readonly topUp: TopUpReport
  readonly unit: Unit
  readonly payer: string
}) => (
  <>
    {text.topUpFrom} <ResourceLink type="relayer" id={payer} /> · {text.topUpUsed}:{" "}
    <Amount value={topUp.used} unit={unit} /> · {text.topUpLeft}: <Amount value={topUp.left} unit={unit} />
    {topUp.transaction_id !== undefined && (
      <>
        {" · "}
        <a
          class="l"
          href={`/console/transactions/${encodeURIComponent(topUp.transaction_id)}?relayer=${encodeURIComponent(payer)}`}
        >
          {text.topUpOpen}
        </a>
      </>
    )}
    {topUp.code !== undefined && (
      <>
        {" "}
        <Tag {...mark("warn", topUp.code)} />{" "}
        {topUp.since !== undefined && (
          <span class="mut">
            {text.topUpSince} <Age at={topUp.since} />
          </span>
        )}
      </>
    )}
  </>
)

const Details = ({ relayer, status }: { readonly relayer: Relayer; readonly status: RelayerStatus }) => {
  const networks = useQuery(networkList).value
  const unit = unitOf(relayer.network_type, relayer.network, networks)
  const minimum = relayer.policies?.min_balance
  const { delegate, top_up: topUp, warnings } = useQuery(relayerExplanation(relayer.id)).value ?? {}
  const targets = targetsOf(relayer.id, useRelayers() ?? [])
  return (
    <div class="pad">
      <Facts
        facts={[
          [text.balance, status.balance !== undefined && <Amount value={status.balance} unit={unit} />],
          [text.minBalance, minimum !== undefined && <Amount value={minimum} unit={unit} />],
          countOf(status),
          [text.asked, status.live ? text.live : status.read_at !== undefined && <At at={status.read_at} />],
          [text.lastCheck, status.last_check_at !== undefined && <Age at={status.last_check_at} />],
          [text.nextCheck, <Until at={status.next_check_at} />],
          [
            text.lastConfirmed,
            status.last_confirmed_transaction_timestamp !== undefined && (
              <Age at={status.last_confirmed_transaction_timestamp} />
            )
          ],
          [
            text.delegate,
            delegate !== undefined && (
              <>
                <Code text={delegate} />{" "}
                {warnings?.includes("delegate_changed") === true && <Tag {...mark("bad", text.delegateChanged)} />}
                <a class="l" href={`/console/relayers/${encodeURIComponent(relayer.id)}/delegation`}>
                  {words.delegation.title}
                </a>
              </>
            )
          ],
          [text.topUp, topUp !== undefined && <TopUp topUp={topUp} unit={unit} payer={topUp.from} />],
          [
            text.topUpOf,
            targets.length > 0 &&
              targets.map((id, index) => (
                <span key={id}>
                  {index > 0 && ", "}
                  <ResourceLink type="relayer" id={id} />
                </span>
              ))
          ],
          [text.privateUrls, privatelyOf(relayer, privateUrlsOf(relayer, networks))],
          [text.network, <ResourceLink type="network" id={`${relayer.network_type}:${relayer.network}`} />],
          [text.signer, <ResourceLink type="signer" id={relayer.signer_id} />],
          [
            text.webhook,
            relayer.notification_id !== undefined && <ResourceLink type="notification" id={relayer.notification_id} />
          ]
        ]}
      />
    </div>
  )
}

const OpenTransactions = ({ relayer }: { readonly relayer: Relayer }) => {
  const key = new URLSearchParams([
    ["relayer_id", relayer.id],
    ["per_page", "20"],
    ...openStatuses.map((status) => ["status", status])
  ])
  const query = useQuery(transactionPage(key.toString()), 15_000)
  const unit = unitOf(relayer.network_type, relayer.network, useQuery(networkList).value)
  useEventsAbout((event) => event.type.startsWith("transaction.") && isAboutRelayer(event, relayer.id), query.refresh)
  return (
    <Block
      title={text.open}
      aside={
        <a class="l" href={`/console/relayers/${encodeURIComponent(relayer.id)}/transactions`}>
          {text.all}
        </a>
      }
      query={query}
    >
      {({ rows }) =>
        rows.length === 0 ? (
          <Empty text={text.noOpen} />
        ) : (
          <TransactionRows label={text.open} rows={rows} chainOf={() => ({ unit })} hasRelayer={false} />
        )
      }
    </Block>
  )
}

export const RelayerSummary = ({ details: { value: relayer } }: { readonly details: Versioned<Relayer> }) => {
  const status = useQuery(relayerStatus(relayer.id))
  const session = useAtom(sessionState)
  return (
    <div class="grid">
      <div class="grid g11">
        <RelayerBalance relayer={relayer} />
        <div class="grid">
          <Block
            title={text.providers}
            aside={
              <button class="btn s" type="button" onClick={status.refresh}>
                {text.ask}
              </button>
            }
            query={status}
          >
            {({ providers }) =>
              providers.length === 0 ? (
                <Empty text={text.noProvider} />
              ) : (
                <List label={text.providers} columns={providerColumns} rows={providers} keyOf={({ url }) => url} />
              )
            }
          </Block>
          <Block title={text.details} query={status} rows={5}>
            {(status) => <Details relayer={relayer} status={status} />}
          </Block>
        </div>
      </div>
      {may(session, "transactions:read") && <OpenTransactions relayer={relayer} />}
    </div>
  )
}
