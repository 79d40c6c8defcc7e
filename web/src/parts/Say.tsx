// What the service says of an object: its reason, what comes next, and what a person can do.
import type { DateTime } from "effect"
import type { ComponentChildren } from "preact"
import type { Unit } from "../data/Amounts.ts"
import { words } from "../words.ts"
import { Icon } from "./Icon.tsx"
import { Marked } from "./Marked.tsx"
import type { Mark } from "./Tag.tsx"
import { At, Until } from "./Time.tsx"

interface Props {
  readonly mark: Pick<Mark, "tone" | "icon">
  readonly reason: string
  readonly next: string
  readonly code?: string
  readonly since?: DateTime.Utc | undefined
  readonly nextAt?: DateTime.Utc | undefined
  /** Of the amounts in the sentences. */
  readonly unit?: Unit
  /** Buttons. */
  readonly children?: ComponentChildren
}

/** Sentences are those of the service. The code can be searched in the documents. */
export const Say = ({ mark, reason, next, code, since, nextAt, unit, children }: Props) => (
  <div class={`say ${mark.tone}`} role="status">
    <Icon name={mark.icon} size={17} />
    <div>
      <b>
        <bdi>
          <Marked text={reason} unit={unit} />
        </bdi>
      </b>
      <p>
        <bdi>
          <Marked text={next} unit={unit} />
        </bdi>
      </p>
      <p>
        {code !== undefined && <code>{code}</code>}
        {since !== undefined && (
          <>
            {" "}
            {words.say.since} <At at={since} />
          </>
        )}
        {nextAt !== undefined && (
          <>
            {" "}
            · {words.say.nextLook} <Until at={nextAt} />
          </>
        )}
      </p>
    </div>
    <div class="do">{children}</div>
  </div>
)
