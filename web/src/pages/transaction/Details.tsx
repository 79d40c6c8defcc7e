// What a transaction is: the line below its title, and its details.
import { isOfNetwork } from "../../../../src/client/Networks.ts"
import { explorerLink, isSecretHash, unitOf } from "../../data/Chains.ts"
import { noDelegate } from "../../data/Authorizations.ts"
import { callsIn, movesOf } from "../../data/Moves.ts"
import type { Network } from "../../data/Networks.ts"
import { isOpen } from "../../data/Transactions.ts"
import type { RelayerOfTransaction, Transaction } from "../../data/Transactions.ts"
import type { Unit } from "../../data/Amounts.ts"
import { words } from "../../words.ts"
import { Amount } from "../../parts/Amount.tsx"
import { CallList } from "../../parts/CallList.tsx"
import { Code } from "../../parts/Copy.tsx"
import { ExternalLink } from "../../parts/ExternalLink.tsx"
import { Facts } from "../../parts/Page.tsx"
import { At, Until } from "../../parts/Time.tsx"

const text = words.transaction

export interface Context {
  readonly relayer: RelayerOfTransaction
  readonly network: Network | undefined
}

const hashOf = (transaction: Transaction): string | undefined => {
  if (isOfNetwork("solana", transaction)) return transaction.signature
  return "hash" in transaction ? transaction.hash : undefined
}

/** The number that orders the transactions of an account, as its network calls it. */
const numberOf = (transaction: Transaction): string | undefined => {
  if (isOfNetwork("evm", transaction)) {
    return transaction.nonce === undefined ? undefined : `${text.nonce} ${transaction.nonce}`
  }
  return isOfNetwork("stellar", transaction) && transaction.sequence_number !== undefined
    ? `${text.sequence} ${transaction.sequence_number}`
    : undefined
}

const Moved = ({ transaction, relayer, unit }: SummaryProps & { readonly unit: Unit }) => {
  const evm = isOfNetwork("evm", transaction) ? transaction : undefined
  if (evm?.delegate !== undefined) {
    return evm.delegate === noDelegate ? (
      <>{text.endsDelegation} · </>
    ) : (
      <>
        {text.delegatesTo} <Code text={evm.delegate} /> ·{" "}
      </>
    )
  }
  if (evm?.calls !== undefined) {
    return (
      <>
        {words.calls.count(evm.calls.length)}, <Amount value={BigInt(evm.value)} unit={unit} /> ·{" "}
      </>
    )
  }
  return movesOf(relayer.network_type, transaction, unit).map(({ amount, unit, to }, index) => (
    <span key={index}>
      {amount !== undefined && <Amount value={amount} unit={unit} />} {text.to}{" "}
      {to === undefined ? text.creation : <Code text={to} />} ·{" "}
    </span>
  ))
}

interface SummaryProps extends Context {
  readonly transaction: Transaction
}

/** What it does, from which account, at which place of it. */
export const Summary = (props: SummaryProps) => {
  const { transaction, relayer, network } = props
  const unit = unitOf(relayer.network_type, relayer.network, network === undefined ? [] : [network])
  const number = numberOf(transaction)
  return (
    <>
      <Moved {...props} unit={unit} />
      {text.from} <a href={`/console/relayers/${encodeURIComponent(relayer.id)}`}>{relayer.id}</a>
      {number !== undefined && ` · ${number}`}
      {relayer.network !== undefined && ` · ${relayer.network}`}
    </>
  )
}

export const Details = ({ transaction, relayer, network }: Context & { readonly transaction: Transaction }) => {
  const unit = unitOf(relayer.network_type, relayer.network, network === undefined ? [] : [network])
  const hash = hashOf(transaction)
  const fee = "fee_paid" in transaction ? transaction.fee_paid : undefined
  const evm = isOfNetwork("evm", transaction) ? transaction : undefined
  const stellar = isOfNetwork("stellar", transaction) ? transaction : undefined
  const solana = isOfNetwork("solana", transaction) ? transaction : undefined
  const isSecret = evm !== undefined && isSecretHash(evm)
  const link = hash === undefined || isSecret ? undefined : explorerLink(network, hash)
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
          [
            text.route,
            evm?.route !== undefined && (
              <>
                {text.routes[evm.route]}{" "}
                {evm.fallback_at !== undefined && isOpen(transaction) && (
                  <span class="mut">
                    {text.fallback} <Until at={evm.fallback_at} />
                  </span>
                )}
              </>
            )
          ],
          [text.data, evm?.data !== undefined && <Code text={evm.data} />],
          [text.calls, evm?.calls !== undefined && <CallList calls={callsIn(evm)} unit={unit} />],
          [text.delegate, evm?.delegate !== undefined && <Code text={evm.delegate} />],
          [text.gasLimit, evm?.gas_limit?.toLocaleString("en-US")],
          [text.speed, evm?.speed],
          [text.minedAs, evm?.mined_as !== undefined && text.minedAsWords[evm.mined_as]],
          [text.block, evm?.block_number?.toLocaleString("en-US")],
          [text.contract, evm?.contract_address !== undefined && <Code text={evm.contract_address} />],
          [text.revert, evm?.revert_reason !== undefined && <bdi class="wrap">{evm.revert_reason}</bdi>],
          [
            text.authorizations,
            evm?.authorizations?.map(({ address, authority, delegated }) => (
              <div key={authority}>
                <Code text={authority} /> {text.delegates} <Code text={address} />{" "}
                <span class="mut">{text.delegated[String(delegated) as "true" | "false" | "null"]}</span>
              </div>
            ))
          ],
          [text.warnings, evm?.warnings?.map((warning) => <div key={warning}>{warning}</div>)],
          [text.account, stellar !== undefined && <Code text={stellar.source_account} />],
          [text.channel, stellar?.channel_account !== undefined && <Code text={stellar.channel_account} />],
          [text.ledger, stellar?.ledger?.toLocaleString("en-US")],
          [text.result, stellar?.result_code],
          [text.operations, stellar?.operation_results?.join(", ")],
          [text.slot, solana?.slot?.toLocaleString("en-US")],
          [
            text.programs,
            solana?.instructions?.map(({ program_id }, index) => (
              <>
                {index > 0 && " "}
                <Code key={index} text={program_id} />
              </>
            ))
          ],
          [text.feePaid, fee !== undefined && <Amount value={fee} unit={unit} />]
        ]}
      />
    </div>
  )
}
