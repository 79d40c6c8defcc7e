// A transaction: what the service says of it, its timeline with what comes next, its attempts, and what a person can do.
import { useRoute } from "preact-iso"
import { explorerLink, unitOf } from "../data/Chains.ts"
import { networkList } from "../data/Networks.ts"
import type { Network } from "../data/Networks.ts"
import { relayerById } from "../data/Relayers.ts"
import { may, sessionState } from "../data/Session.ts"
import { isOpen, relayerOf, transactionByKey, transactionExplanation, transactionKey } from "../data/Transactions.ts"
import type { RelayerOfTransaction, Transaction } from "../data/Transactions.ts"
import { words } from "../words.ts"
import { Amount } from "../parts/Amount.tsx"
import { Failed, Loaded } from "../parts/Block.tsx"
import { Code, CopyButton, shortened } from "../parts/Copy.tsx"
import { ExternalLink } from "../parts/ExternalLink.tsx"
import { Facts, Page } from "../parts/Page.tsx"
import { Say } from "../parts/Say.tsx"
import { markOf } from "../parts/States.ts"
import { Tag } from "../parts/Tag.tsx"
import { At, Until } from "../parts/Time.tsx"
import { useAtom, useChange, useQuery, useSearch } from "../parts/useAtom.ts"
import { useEventsAbout } from "../parts/useEvents.ts"
import { TransactionActions } from "./transaction/Actions.tsx"
import { Attempts } from "./transaction/Attempts.tsx"
import { FeePlot } from "./transaction/FeePlot.tsx"
import { Timeline } from "./transaction/Timeline.tsx"

const text = words.transaction

/** Milliseconds between two looks at an open transaction. */
const refreshed = 5_000

interface Context {
  readonly relayer: RelayerOfTransaction
  readonly network: Network | undefined
}

const hashOf = (transaction: Transaction): string | undefined => {
  if ("hash" in transaction && transaction.hash !== undefined) return transaction.hash
  return transaction.network_type === "solana" &&
    "signature" in transaction &&
    typeof transaction.signature === "string"
    ? transaction.signature
    : undefined
}

const isEvm = (transaction: Transaction) => transaction.network_type === "evm" && "value" in transaction

/** The place in the order of the account, in the words of its network. */
const placeOf = (transaction: Transaction) => {
  if ("nonce" in transaction && transaction.nonce !== undefined) return `${text.nonce} ${transaction.nonce}`
  return "sequence_number" in transaction ? `${text.sequence} ${transaction.sequence_number}` : undefined
}

const Summary = ({ transaction, relayer, network }: Context & { readonly transaction: Transaction }) => {
  const unit = unitOf(relayer.network_type, relayer.network, network === undefined ? [] : [network])
  const place = placeOf(transaction)
  return (
    <>
      {isEvm(transaction) && (
        <>
          <Amount value={transaction.value} unit={unit} /> {text.to}{" "}
          {transaction.to === undefined ? text.creation : <Code text={transaction.to} />} ·{" "}
        </>
      )}
      {text.from} <a href={`/console/relayers/${encodeURIComponent(relayer.id)}`}>{relayer.id}</a>
      {place !== undefined && ` · ${place}`}
      {relayer.network !== undefined && ` · ${relayer.network}`}
    </>
  )
}

const Details = ({ transaction, relayer, network }: Context & { readonly transaction: Transaction }) => {
  const unit = unitOf(relayer.network_type, relayer.network, network === undefined ? [] : [network])
  const hash = hashOf(transaction)
  const link = hash === undefined ? undefined : explorerLink(network, hash)
  const fee = "fee_paid" in transaction ? transaction.fee_paid : undefined
  const evm = isEvm(transaction) ? transaction : undefined
  const stellar = transaction.network_type === "stellar" && "source_account" in transaction ? transaction : undefined
  const solana = transaction.network_type === "solana" && "transaction" in transaction ? transaction : undefined
  return (
    <div class="pad">
      <Facts
        facts={[
          [text.id, <Code text={transaction.id} full />],
          [text.externalId, transaction.external_id !== undefined && <Code text={transaction.external_id} full />],
          [text.hash, hash !== undefined && <Code text={hash} />],
          [text.explorer, link !== undefined && <ExternalLink href={link} label={new URL(link).host} />],
          [text.accepted, <At at={transaction.created_at} />],
          [text.sent, transaction.sent_at !== undefined && <At at={transaction.sent_at} />],
          [text.final, transaction.confirmed_at !== undefined && <At at={transaction.confirmed_at} />],
          [text.confirmedBy, transaction.confirmed_by === 1 && text.byOne],
          [
            text.validUntil,
            transaction.valid_until !== undefined && (
              <>
                <At at={transaction.valid_until} />{" "}
                {isOpen(transaction) && (
                  <span class="mut">
                    <Until at={transaction.valid_until} />
                  </span>
                )}
              </>
            )
          ],
          [text.data, evm?.data !== undefined && <Code text={evm.data} />],
          [text.gasLimit, evm?.gas_limit?.toLocaleString("en-US")],
          [text.speed, evm?.speed],
          [text.block, evm?.block_number?.toLocaleString("en-US")],
          [text.contract, evm?.contract_address !== undefined && <Code text={evm.contract_address} />],
          [text.revert, evm?.revert_reason !== undefined && <bdi class="wrap">{evm.revert_reason}</bdi>],
          [text.account, stellar !== undefined && <Code text={stellar.source_account} />],
          [text.channel, stellar?.channel_account !== undefined && <Code text={stellar.channel_account} />],
          [text.ledger, stellar?.ledger?.toLocaleString("en-US")],
          [text.result, stellar?.result_code],
          [text.operations, stellar?.operation_results?.join(", ")],
          [text.slot, solana?.slot?.toLocaleString("en-US")],
          [text.programs, solana?.instructions?.map(({ program_id }) => shortened(program_id)).join(", ")],
          [text.feePaid, fee !== undefined && <Amount value={fee} unit={unit} />]
        ]}
      />
    </div>
  )
}

const Explained = ({ id, transaction }: { readonly id: string; readonly transaction: Transaction }) => {
  const said = useQuery(transactionExplanation(id), isOpen(transaction) ? refreshed : undefined)
  useChange(transaction.status, said.refresh)
  return (
    <Loaded query={said} rows={1}>
      {(said) => (
        <Say
          mark={markOf(said.status)}
          reason={said.reason}
          next={said.next}
          code={said.code}
          since={said.since}
          nextAt={said.next_at}
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
  return (
    <>
      <div class="sub">
        <Summary transaction={transaction} {...context} />
      </div>
      <Explained id={id} transaction={transaction} />
      <div class="grid g21">
        <div class="grid">
          {isEvm(transaction) && <FeePlot id={id} transaction={transaction} />}
          <Attempts transaction={transaction} {...context} />
        </div>
        <div class="grid">
          <Timeline id={id} transaction={transaction} />
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
  const title = transaction?.external_id ?? shortened(id)
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
    <Page title={shortened(id)} crumbs={crumbs}>
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
