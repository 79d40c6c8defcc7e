// A transaction: what the service says of it, its timeline with what comes next, its attempts, and what a person can do.
import { useRoute } from "preact-iso"
import { isOfNetwork } from "../../../src/client/Networks.ts"
import { waits } from "../../../src/networks/core/Cause.ts"
import type { Unit } from "../data/Amounts.ts"
import { unitOf } from "../data/Chains.ts"
import { networkList } from "../data/Networks.ts"
import { relayerById } from "../data/Relayers.ts"
import { may, sessionState } from "../data/Session.ts"
import { isOpen, relayerOf, transactionByKey, transactionExplanation, transactionKey } from "../data/Transactions.ts"
import type { Transaction } from "../data/Transactions.ts"
import { words } from "../words.ts"
import { Failed, Loaded } from "../parts/Block.tsx"
import { CopyButton } from "../parts/Copy.tsx"
import { Page } from "../parts/Page.tsx"
import { Say } from "../parts/Say.tsx"
import { markOf } from "../parts/States.ts"
import { Tag } from "../parts/Tag.tsx"
import { useAtom, useChange, useQuery, useSearch } from "../parts/useAtom.ts"
import { useEventsAbout } from "../parts/useEvents.ts"
import { TransactionActions } from "./transaction/Actions.tsx"
import { Attempts } from "./transaction/Attempts.tsx"
import { Details, Summary } from "./transaction/Details.tsx"
import type { Context } from "./transaction/Details.tsx"
import { FeePlot } from "./transaction/FeePlot.tsx"
import { Timeline } from "./transaction/Timeline.tsx"

const text = words.transaction

/** Milliseconds between two looks at an open transaction. */
const refreshed = 5_000

interface ExplainedProps {
  readonly id: string
  readonly transaction: Transaction
  readonly unit: Unit
}

const Explained = ({ id, transaction, unit }: ExplainedProps) => {
  const said = useQuery(transactionExplanation(id), isOpen(transaction) ? refreshed : undefined)
  useChange(transaction.status, said.refresh)
  return (
    <Loaded query={said} rows={1}>
      {(said) => (
        <Say
          mark={isOpen(transaction) && waits(said.code) ? markOf("waiting") : markOf(said.status)}
          reason={said.reason}
          next={said.next}
          code={said.code}
          since={said.since}
          nextAt={said.next_at}
          unit={unit}
        />
      )}
    </Loaded>
  )
}

const Content = ({
  id,
  transaction,
  relayer
}: Omit<Context, "network"> & { readonly id: string; readonly transaction: Transaction }) => {
  const networks = useQuery(networkList)
  const network = networks.value?.find(
    ({ name, network_type }) => name === relayer.network && network_type === relayer.network_type
  )
  const context = { relayer, network }
  const unit = unitOf(relayer.network_type, relayer.network, networks.value)
  return (
    <>
      <div class="sub">
        <Summary transaction={transaction} {...context} />
      </div>
      <Explained id={id} transaction={transaction} unit={unit} />
      <div class="grid g21">
        <div class="grid">
          {isOfNetwork("evm", transaction) && <FeePlot id={id} transaction={transaction} />}
          <Attempts transaction={transaction} {...context} />
        </div>
        <div class="grid">
          <Timeline id={id} transaction={transaction} unit={unit} />
          <section class="card" aria-label={text.details}>
            <h2>{text.details}</h2>
            <Details transaction={transaction} {...context} />
          </section>
        </div>
      </div>
    </>
  )
}

const ContentOfRelayer = ({ id, transaction }: { readonly id: string; readonly transaction: Transaction }) => {
  const relayer = useQuery(relayerById(transaction.relayer_id))
  return (
    <Loaded query={relayer} rows={6}>
      {({ value }) => <Content id={id} transaction={transaction} relayer={value} />}
    </Loaded>
  )
}

/** A session that may read transactions, but no relayers, sees all but the name of the network and its unit. */
const ContentAlone = ({ id, transaction }: { readonly id: string; readonly transaction: Transaction }) => (
  <Content
    id={id}
    transaction={transaction}
    relayer={{ id: transaction.relayer_id, network_type: transaction.network_type }}
  />
)

const crumbs = [{ href: "/console/transactions", label: words.transactions.title }]

const KnownTransaction = ({ relayer, id }: { readonly relayer: string; readonly id: string }) => {
  const session = useAtom(sessionState)
  const key = transactionKey(relayer, id)
  const query = useQuery(transactionByKey(key), refreshed)
  const transaction = query.value
  useEventsAbout(({ resource_id }) => resource_id === id, query.refresh)
  const title = transaction?.external_id ?? id
  return (
    <Page
      title={title}
      crumbs={crumbs}
      heading={
        transaction === undefined ? undefined : (
          <>
            <bdi>{title}</bdi> <Tag {...markOf(transaction.status)} />
            {transaction.is_canceled && isOpen(transaction) && <span class="mut"> {text.canceling}</span>}
          </>
        )
      }
      actions={
        <>
          {transaction !== undefined && <TransactionActions id={key} transaction={transaction} />}
          <CopyButton text={location.href} label={text.copyLink} />
        </>
      }
    >
      <Loaded query={query} rows={8}>
        {(transaction) =>
          may(session, "relayers:read") ? (
            <ContentOfRelayer id={key} transaction={transaction} />
          ) : (
            <ContentAlone id={key} transaction={transaction} />
          )
        }
      </Loaded>
    </Page>
  )
}

const notFound = { _tag: "Failure", status: 404, text: words.failure.notFound } as const

/** A link without the relayer, such as one of an event, asks which relayer it is first. */
const UnknownRelayer = ({ id }: { readonly id: string }) => {
  const query = useQuery(relayerOf(id))
  if (typeof query.value === "string") return <KnownTransaction relayer={query.value} id={id} />
  return (
    <Page title={id} crumbs={crumbs}>
      <Loaded query={query} rows={8}>
        {() => <Failed failure={notFound} />}
      </Loaded>
    </Page>
  )
}

export const TransactionPage = () => {
  const { params } = useRoute()
  const { parameters } = useSearch()
  const id = params["id"] ?? ""
  const relayer = parameters.get("relayer")
  return relayer === null ? <UnknownRelayer id={id} /> : <KnownTransaction key={id} relayer={relayer} id={id} />
}
