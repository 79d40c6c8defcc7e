// A native dialog: a question before an action that cannot be taken back, or something that must not close by accident.
import type { ComponentChildren } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import type { Failure } from "../data/Failure.ts"
import type { Outcome } from "../data/Registry.ts"
import { words } from "../words.ts"
import { Failed } from "./Block.tsx"
import { Writes } from "./Writes.tsx"

interface DialogProps {
  readonly title: string
  /** Absent if the dialog must be answered. */
  readonly onClose?: () => void
  readonly children: ComponentChildren
}

export const Dialog = ({ title, onClose, children }: DialogProps) => {
  const element = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const dialog = element.current
    if (dialog === null || dialog.open) return
    dialog.showModal()
    return () => dialog.close()
  }, [])
  return (
    <dialog
      ref={element}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault()
        onClose?.()
      }}
    >
      <h2>{title}</h2>
      {children}
    </dialog>
  )
}

export interface Question {
  readonly title: string
  /** The effect, with numbers. */
  readonly text: ComponentChildren
  readonly action: string
  readonly isDangerous?: boolean
  /** Says what happens without the action, if "Cancel" could be mistaken for it. */
  readonly keep?: string
  /** This id is typed before the action can be chosen. */
  readonly typed?: string
  readonly act: () => Promise<Outcome<unknown>>
}

/** Focus starts on "Cancel". A failure stays in the dialog. */
export const Confirm = ({ question, onClose }: { readonly question: Question; readonly onClose: () => void }) => {
  const { title, text, action, isDangerous = false, keep = words.confirm.cancel, typed, act } = question
  const [written, write] = useState("")
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  // A second click may come before the button is drawn as busy.
  const isActing = useRef(false)
  const isReady = !isBusy && (typed === undefined || written.trim() === typed)
  const onAct = async () => {
    if (!isReady || isActing.current) return
    isActing.current = true
    setBusy(true)
    const outcome = await act()
    isActing.current = false
    setBusy(false)
    if (outcome.ok) onClose()
    else setFailure(outcome.failure)
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="text">{text}</div>
      {typed !== undefined && (
        <label class="field">
          {words.confirm.type} <code>{typed}</code>
          <input
            value={written}
            spellcheck={false}
            autocomplete="off"
            onInput={({ currentTarget }) => write(currentTarget.value)}
          />
        </label>
      )}
      {failure !== undefined && <Failed failure={failure} />}
      <div class="do">
        <button class="btn" type="button" autofocus onClick={onClose}>
          {keep}
        </button>
        <Writes>
          <button class={isDangerous ? "btn d" : "btn p"} type="button" aria-disabled={!isReady} onClick={onAct}>
            {action}
          </button>
        </Writes>
      </div>
    </Dialog>
  )
}

/** A question that a component can ask, and its dialog while it is asked. */
export const useQuestion = () => {
  const [question, ask] = useState<Question>()
  const dialog = question !== undefined && <Confirm question={question} onClose={() => ask(undefined)} />
  return [dialog, ask] as const
}
