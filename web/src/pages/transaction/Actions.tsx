// What a person can do with a transaction: cancel, speed up, decide. What is not possible says why.
import { useState } from "preact/hooks"
import { isOfNetwork } from "../../../../src/client/Networks.ts"
import { topUpPrefix } from "../../../../src/domain/relayer/TopUp.ts"
import { leastAbove } from "../../../../src/networks/evm/rules/Market.ts"
import { exact, gwei, parse } from "../../data/Amounts.ts"
import type { Failure } from "../../data/Failure.ts"
import { act, refresh } from "../../data/Registry.ts"
import { may, mayDelegate, sessionState } from "../../data/Session.ts"
import {
  cancelTransaction,
  decide,
  isOpen,
  publishTransaction,
  replaceTransaction,
  transactionByKey,
  transactionExplanation
} from "../../data/Transactions.ts"
import type { Transaction } from "../../data/Transactions.ts"
import { words } from "../../words.ts"
import { Failed } from "../../parts/Block.tsx"
import { Dialog, useQuestion } from "../../parts/Dialog.tsx"
import type { Question } from "../../parts/Dialog.tsx"
import { useAtom } from "../../parts/useAtom.ts"
import { Writes } from "../../parts/Writes.tsx"

const text = words.transaction

type Evm = Extract<Transaction, { readonly network_type: "evm" }>

interface Props {
  /** The key of the transaction's queries. */
  readonly id: string
  readonly transaction: Transaction
}

const refreshAll = (id: string) => refresh(transactionByKey(id), transactionExplanation(id))

/** Codes with which the service waits for an operator's answer about one transaction. */
const undecided: ReadonlySet<string> = new Set([
  "nonce_taken_unproven",
  "effect_unproven",
  "restored_unproven",
  "landing_unproven"
])

/** It is in a block, so that it is never sent again. */
const onlyGiveUp = "effect_unproven"

const cancelText = (transaction: Transaction) => {
  if (transaction.status === "pending") return text.cancelPending
  if (!isOfNetwork("evm", transaction)) return text.cancelOther
  if (transaction.authorizations === undefined) return text.cancelEvm
  return `${text.cancelEvm} ${words.authorizations.anybody}`
}

/** Why an action is not possible. `undefined`: it is. */
const obstacleOf = (transaction: Transaction): string | undefined => {
  if (!isOpen(transaction)) return text.isFinal
  if (transaction.status === "mined") return text.isMined
  return transaction.is_canceled ? text.isCanceled : undefined
}

const isDelegation = (transaction: Transaction): transaction is Evm =>
  isOfNetwork("evm", transaction) && transaction.delegate !== undefined

/** A delegation that is signed: its authorization is known, and valid for the next nonce. */
const isBound = (transaction: Transaction): boolean =>
  isDelegation(transaction) && (transaction.attempts ?? []).length > 0

const speedObstacleOf = (transaction: Evm): string | undefined => {
  if (transaction.delegate !== undefined) return text.isDelegation
  if (transaction.external_id?.startsWith(topUpPrefix) === true) return text.isTopUp
  return priceFields.every((name) => transaction[name] === undefined) ? text.isUnsigned : undefined
}

const priceFields = ["gas_price", "max_fee_per_gas", "max_priority_fee_per_gas"] as const

type PriceField = (typeof priceFields)[number]

const SpeedUp = ({
  id,
  transaction,
  onClose
}: {
  readonly id: string
  readonly transaction: Evm
  readonly onClose: () => void
}) => {
  const shown = priceFields.filter((name) => transaction[name] !== undefined)
  const least = Object.fromEntries(
    shown.map((name) => [name, exact(leastAbove(transaction[name] ?? 0n), gwei.decimals)])
  )
  const [prices, setPrices] = useState<Readonly<Record<string, string>>>(least)
  const [failure, setFailure] = useState<Failure>()
  const [isBusy, setBusy] = useState(false)
  const read = (name: PriceField) => parse(prices[name] ?? "", gwei.decimals)
  const isReady = !isBusy && shown.every((name) => read(name).ok)
  const onSend = async () => {
    if (!isReady) return
    setBusy(true)
    const { to, value, data, calls, gas_limit } = transaction
    const fees = Object.fromEntries(
      shown.flatMap((name) => {
        const price = read(name)
        return price.ok ? [[name, price.value]] : []
      })
    )
    const outcome = await act(
      replaceTransaction(id, {
        // The amounts of many calls are their own, and the list of authorizations stays.
        ...(calls === undefined
          ? { value, ...(to === undefined ? {} : { to }), ...(data === undefined ? {} : { data }) }
          : {
              value: 0n,
              calls: calls.map(({ data, ...call }) => ({ ...call, ...(data === undefined ? {} : { data }) }))
            }),
        ...(gas_limit === undefined ? {} : { gas_limit: BigInt(gas_limit) }),
        ...fees
      })
    )
    setBusy(false)
    refreshAll(id)
    if (outcome.ok) onClose()
    else setFailure(outcome.failure)
  }
  return (
    <Dialog title={text.speedUp} onClose={onClose}>
      <p class="text">{text.speedUpText}</p>
      {shown.map((name) => (
        <label key={name} class="field">
          <code>{name}</code> (gwei)
          <input
            value={prices[name]}
            inputMode="decimal"
            aria-invalid={!read(name).ok}
            onInput={({ currentTarget }) => setPrices({ ...prices, [name]: currentTarget.value })}
          />
        </label>
      ))}
      {failure !== undefined && <Failed failure={failure} />}
      <div class="do">
        <button class="btn" type="button" autofocus onClick={onClose}>
          {words.confirm.cancel}
        </button>
        <Writes>
          <button class="btn p" type="button" aria-disabled={!isReady} onClick={onSend}>
            {text.speedUp}
          </button>
        </Writes>
      </div>
    </Dialog>
  )
}

const questionsOf = (id: string, transaction: Transaction) => {
  const answered = (answer: "send" | "give_up") => () => act(decide(id, answer)).finally(() => refreshAll(id))
  return {
    cancel: {
      title: text.cancelTitle,
      text: cancelText(transaction),
      action: text.cancelAction,
      keep: text.keep,
      isDangerous: true,
      act: () => act(cancelTransaction(id)).finally(() => refreshAll(id))
    },
    cancelUnsigned: {
      title: text.cancelUnsignedTitle,
      text: text.cancelUnsignedText,
      action: text.cancelAction,
      keep: text.keep,
      isDangerous: true,
      act: () => act(cancelTransaction(id, true)).finally(() => refreshAll(id))
    },
    publish: {
      title: text.publishTitle,
      text: text.publishText,
      action: text.publishAction,
      isDangerous: true,
      act: () => act(publishTransaction(id)).finally(() => refreshAll(id))
    },
    send: {
      title: text.sendTitle,
      text: text.sendText,
      action: text.sendAction,
      isDangerous: true,
      act: answered("send")
    },
    giveUp: {
      title: text.giveUpTitle,
      text: text.giveUpText,
      action: text.giveUpAction,
      isDangerous: true,
      act: answered("give_up")
    }
  } satisfies Record<string, Question>
}

interface ActionProps {
  readonly label: string
  readonly obstacle: string | undefined
  readonly isMain?: boolean
  readonly onClick: () => void
}

const Action = ({ label, obstacle, isMain = false, onClick }: ActionProps) => (
  <button
    class={isMain ? "btn p" : "btn"}
    type="button"
    aria-disabled={obstacle !== undefined}
    title={obstacle}
    onClick={() => {
      if (obstacle === undefined) onClick()
    }}
  >
    {label}
    {obstacle !== undefined && <span class="sr">: {obstacle}</span>}
  </button>
)

export const TransactionActions = ({ id, transaction }: Props) => {
  const session = useAtom(sessionState)
  const [dialog, ask] = useQuestion()
  const [isSpeeding, setSpeeding] = useState(false)
  const questions = questionsOf(id, transaction)
  const obstacle = may(session, "transactions:write") ? obstacleOf(transaction) : text.notAllowed
  // The answer decides what the account delegates to.
  const undecidable = isDelegation(transaction) && !mayDelegate(session) ? words.delegation.limited : undefined
  const cancelObstacle = obstacle ?? (isBound(transaction) ? text.isSignedDelegation : undefined)
  return (
    <>
      {undecided.has(transaction.code ?? "") && may(session, "transactions:write") && (
        <>
          {transaction.code !== onlyGiveUp && (
            <Action label={text.sendAction} obstacle={undecidable} isMain onClick={() => ask(questions.send)} />
          )}
          <Action label={text.giveUpAction} obstacle={undecidable} onClick={() => ask(questions.giveUp)} />
        </>
      )}
      {isOfNetwork("evm", transaction) && (
        <Action
          label={text.speedUp}
          obstacle={obstacle ?? speedObstacleOf(transaction)}
          onClick={() => setSpeeding(true)}
        />
      )}
      {isOfNetwork("evm", transaction) && transaction.route === "private" && isOpen(transaction) && (
        <Action label={text.publish} obstacle={obstacle} onClick={() => ask(questions.publish)} />
      )}
      {transaction.status === "pending" && (
        <Action label={text.cancelUnsigned} obstacle={obstacle} onClick={() => ask(questions.cancelUnsigned)} />
      )}
      <Action label={text.cancel} obstacle={cancelObstacle} onClick={() => ask(questions.cancel)} />
      {dialog}
      {isSpeeding && isOfNetwork("evm", transaction) && (
        <SpeedUp id={id} transaction={transaction} onClose={() => setSpeeding(false)} />
      )}
    </>
  )
}
