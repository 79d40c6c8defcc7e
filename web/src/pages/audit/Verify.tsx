// Verifies the audit log part by part, and says how far it has come.
import { useRef, useState } from "preact/hooks"
import { grouped } from "../../data/Amounts.ts"
import { begun, storedHead, verifyNext } from "../../data/AuditVerification.ts"
import type { Verification } from "../../data/AuditVerification.ts"
import { words } from "../../words.ts"
import { Failed } from "../../parts/Block.tsx"
import { Code } from "../../parts/Copy.tsx"
import { Dialog } from "../../parts/Dialog.tsx"
import { Icon } from "../../parts/Icon.tsx"

const text = words.audit

const Progress = ({ state, last }: { readonly state: Verification; readonly last: number }) => (
  <>
    <progress class="progress" max={Math.max(last, state.checked, 1)} value={state.checked} aria-label={text.verify} />
    <p role="status">
      {text.checked(grouped(state.checked))}
      {state.isWaiting && ` ${text.waits}`}
    </p>
  </>
)

const Result = ({ state: { brokenAt, head, checked } }: { readonly state: Verification }) => {
  if (brokenAt !== undefined) {
    return (
      <p class="bad-fg" role="alert">
        <Icon name="bad" /> {text.broken(grouped(brokenAt))}
      </p>
    )
  }
  return (
    <div role="status">
      <p class="ok-fg">
        <Icon name="ok" /> {text.whole(grouped(checked))}
      </p>
      {head !== undefined && (
        <p>
          {text.head} <Code text={`${head.position}:${head.hash}`} full />
        </p>
      )}
    </div>
  )
}

interface Props {
  /** Position of the newest record that the page knows. */
  readonly last: number
}

export const VerifyAudit = ({ last }: Props) => {
  const [state, setState] = useState<Verification>()
  const [stored, store] = useState("")
  const [isOpen, setOpen] = useState(false)
  const run = useRef(0)
  const isRunning = state !== undefined && !state.isDone
  const known = stored.trim() === "" ? undefined : storedHead(stored)
  const isWrong = stored.trim() !== "" && known === undefined
  const onVerify = async () => {
    if (isRunning || isWrong) return
    const mine = (run.current += 1)
    let present = begun
    setState(present)
    while (!present.isDone) {
      present = await verifyNext(present, known)
      if (run.current !== mine) return
      setState(present)
    }
  }
  const onClose = () => {
    run.current += 1
    setState(undefined)
    setOpen(false)
  }
  return (
    <>
      <button class="btn" type="button" onClick={() => setOpen(true)}>
        {text.verify}
      </button>
      {isOpen && (
        <Dialog title={text.verify} onClose={onClose}>
          <p class="text">{text.verifyText}</p>
          <label class="field">
            {text.storedHead}
            <input
              value={stored}
              spellcheck={false}
              autocomplete="off"
              aria-invalid={isWrong}
              onInput={({ currentTarget }) => store(currentTarget.value)}
            />
          </label>
          {isWrong && (
            <p class="problem" role="alert">
              {text.noHead}
            </p>
          )}
          {state !== undefined && state.failure === undefined && !state.isDone && (
            <Progress state={state} last={last} />
          )}
          {state?.failure !== undefined && <Failed failure={state.failure} />}
          {state?.isDone === true && state.failure === undefined && <Result state={state} />}
          <div class="do">
            <button class="btn" type="button" autofocus onClick={onClose}>
              {words.confirm.close}
            </button>
            <button class="btn p" type="button" aria-disabled={isRunning || isWrong} onClick={onVerify}>
              {isRunning ? text.verifying : text.verify}
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
