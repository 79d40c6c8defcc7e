// Sends the deliveries of a period again. Their number is known before anything is sent.
import { useState } from "preact/hooks"
import { grouped } from "../../data/Amounts.ts"
import { now } from "../../data/Clock.ts"
import type { Failure } from "../../data/Failure.ts"
import { act } from "../../data/Registry.ts"
import { iso } from "../../data/Times.ts"
import { countReplayed, replayDeliveries } from "../../data/Webhooks.ts"
import type { Replayed } from "../../data/Webhooks.ts"
import { words } from "../../words.ts"
import { Failed } from "../../parts/Block.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { Writes } from "../../parts/Writes.tsx"

const text = words.webhooks

/** Milliseconds. */
const day = 86_400_000

/** The value of a field of date and time, to the second. */
const written = (at: number) => iso(at).slice(0, 19)

const asIso = (field: string) => (field === "" ? "" : `${field}${field.length === 16 ? ":00" : ""}Z`)

interface Fields {
  readonly since: string
  readonly until: string
  /** Empty: delivered and failed. */
  readonly state: string
}

const lastDay = (): Fields => ({ since: written(now() - day), until: written(now()), state: "failed" })

const bodyOf = ({ since, until, state }: Fields): Replayed => ({
  since: asIso(since),
  until: asIso(until),
  ...(state === "" ? {} : { state })
})

const Moment = ({
  label,
  value,
  onChange
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
}) => (
  <label class="field">
    {label}
    <input
      type="datetime-local"
      step="1"
      value={value}
      onInput={({ currentTarget }) => onChange(currentTarget.value)}
    />
  </label>
)

const States = ({ value, onChange }: { readonly value: string; readonly onChange: (value: string) => void }) => (
  <label class="field">
    {text.state}
    <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      <option value="">{text.either}</option>
      <option value="failed">{text.states.failed}</option>
      <option value="delivered">{text.states.delivered}</option>
    </select>
  </label>
)

const ReplayDialog = ({ id, onClose }: { readonly id: string; readonly onClose: () => void }) => {
  const [fields, setFields] = useState(lastDay)
  const [count, setCount] = useState<number>()
  const [sent, setSent] = useState<number>()
  const [failure, setFailure] = useState<Failure>()
  const [isBusy, setBusy] = useState(false)
  const [key] = useState(() => crypto.randomUUID())
  // Other fields are another question: its answer is not known yet.
  const change = (changed: Partial<Fields>) => {
    setFields({ ...fields, ...changed })
    setCount(undefined)
    setSent(undefined)
    setFailure(undefined)
  }
  const run = async (ask: typeof countReplayed, done: (count: number) => void) => {
    if (isBusy) return
    setBusy(true)
    setFailure(undefined)
    const outcome = await act(ask(id, bodyOf(fields)))
    setBusy(false)
    if (outcome.ok) done(outcome.value)
    else setFailure(outcome.failure)
  }
  const onCount = () => run(countReplayed, setCount)
  const onReplay = () => run((id, replayed) => replayDeliveries(id, replayed, key), setSent)
  return (
    <Dialog title={text.replayTitle} onClose={onClose}>
      <p class="text">{text.replayText}</p>
      <Moment label={text.sinceField} value={fields.since} onChange={(since) => change({ since })} />
      <Moment label={text.untilField} value={fields.until} onChange={(until) => change({ until })} />
      <States value={fields.state} onChange={(state) => change({ state })} />
      <p role="status">
        {sent === undefined
          ? count !== undefined && text.counted(count, grouped(count))
          : text.replayed(sent, grouped(sent))}
      </p>
      {failure !== undefined && <Failed failure={failure} />}
      <div class="do">
        <button class="btn" type="button" onClick={onClose}>
          {words.confirm.close}
        </button>
        {sent === undefined && count !== undefined && count > 0 ? (
          <Writes>
            <button class="btn p" type="button" aria-disabled={isBusy} onClick={onReplay}>
              {text.replayAction(count, grouped(count))}
            </button>
          </Writes>
        ) : (
          <Writes>
            <button class="btn p" type="button" aria-disabled={isBusy || sent !== undefined} onClick={onCount}>
              {isBusy ? text.counting : text.count}
            </button>
          </Writes>
        )}
      </div>
    </Dialog>
  )
}

export const Replay = ({ id }: { readonly id: string }) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button class="btn" type="button" onClick={() => setOpen(true)}>
        {text.replay}
      </button>
      {isOpen && <ReplayDialog id={id} onClose={() => setOpen(false)} />}
    </>
  )
}
