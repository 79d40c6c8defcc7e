// Replaces the open transactions of a range of nonces by no-ops: the range, a price that may exceed the cap, and what was changed.
import { useState } from "preact/hooks"
import { gwei, parse } from "../../data/Amounts.ts"
import type { Failure } from "../../data/Failure.ts"
import { act } from "../../data/Registry.ts"
import { clearNonces } from "../../data/Relayers.ts"
import { isLimited, sessionState } from "../../data/Session.ts"
import { words } from "../../words.ts"
import { Failed } from "../../parts/Block.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { useAtom } from "../../parts/useAtom.ts"
import { Writes } from "../../parts/Writes.tsx"

const text = words.nonces

/** A nonce has at most 16 digits, which a number of JavaScript holds. */
const nonceOf = (entered: string): number | undefined =>
  /^\d{1,15}$/.test(entered.trim()) ? Number(entered.trim()) : undefined

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly isWrong: boolean
  readonly set: (value: string) => void
}

const Field = ({ label, value, isWrong, set }: FieldProps) => (
  <label class="field">
    {label}
    <input
      value={value}
      inputMode="decimal"
      autocomplete="off"
      aria-invalid={isWrong}
      onInput={({ currentTarget }) => set(currentTarget.value)}
    />
  </label>
)

interface Props {
  readonly relayer: string
  /** The lowest nonce of an open transaction. */
  readonly first: number
  readonly onClose: () => void
}

export const ClearNonces = ({ relayer, first, onClose }: Props) => {
  const session = useAtom(sessionState)
  const [from, setFrom] = useState(String(first))
  const [to, setTo] = useState(String(first))
  const [price, setPrice] = useState("")
  const [changed, setChanged] = useState<number>()
  const [failure, setFailure] = useState<Failure>()
  const [isBusy, setBusy] = useState(false)
  const range = [nonceOf(from), nonceOf(to)] as const
  const most = price.trim() === "" ? undefined : parse(price, gwei.decimals)
  const isReady = !isBusy && changed === undefined && !range.includes(undefined) && most?.ok !== false
  const onClear = async () => {
    const [start, end] = range
    if (!isReady || start === undefined || end === undefined) return
    setBusy(true)
    setFailure(undefined)
    const outcome = await act(
      clearNonces(relayer, {
        from: start,
        to: end,
        ...(most?.ok === true ? { max_fee_per_gas: most.value.toString() } : {})
      })
    )
    setBusy(false)
    if (outcome.ok) setChanged(outcome.value.transaction_ids.length)
    else setFailure(outcome.failure)
  }
  return (
    <Dialog title={text.clearTitle} onClose={onClose}>
      <p class="text">{text.clearText}</p>
      <Field label={text.from} value={from} isWrong={range[0] === undefined} set={setFrom} />
      <Field label={text.to} value={to} isWrong={range[1] === undefined} set={setTo} />
      {/* The service takes no price from a key with transaction_limits. */}
      {!isLimited(session) && <Field label={text.price} value={price} isWrong={most?.ok === false} set={setPrice} />}
      {failure !== undefined && <Failed failure={failure} />}
      {changed !== undefined && <p role="status">{text.cleared(changed)}</p>}
      <div class="do">
        <button class="btn" type="button" autofocus onClick={onClose}>
          {changed === undefined ? words.confirm.cancel : words.confirm.close}
        </button>
        <Writes>
          <button class="btn d" type="button" aria-disabled={!isReady} onClick={onClear}>
            {text.clearAction}
          </button>
        </Writes>
      </div>
    </Dialog>
  )
}
