// A secret that is shown once: hidden until "Show", and not closed by accident.
import { useState } from "preact/hooks"
import { words } from "../words.ts"
import { CopyButton } from "./Copy.tsx"
import { Dialog } from "./Dialog.tsx"

const text = words.secret

interface Props {
  readonly title: string
  readonly text: string
  readonly secret: string
  readonly onStored: () => void
}

export const Secret = ({ title, text: about, secret, onStored }: Props) => {
  const [isShown, show] = useState(false)
  return (
    <Dialog title={title}>
      <p class="text">{about}</p>
      <pre tabIndex={0}>{isShown ? secret : "•".repeat(secret.length)}</pre>
      <div class="do">
        <button class="btn" type="button" onClick={() => show(true)}>
          {text.show}
        </button>
        <CopyButton text={secret} label={words.copy.copy} />
        <button class="btn p" type="button" onClick={onStored}>
          {text.stored}
        </button>
      </div>
    </Dialog>
  )
}
