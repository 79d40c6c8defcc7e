// The search of the head. It leads to the page of the search, which leads on if there is one hit.
import { useLocation } from "preact-iso"
import { useEffect, useState } from "preact/hooks"
import { words } from "../words.ts"
import { Icon } from "./Icon.tsx"
import { useSearch } from "./useAtom.ts"

const text = words.search

interface Props {
  /** The address of the search for a text. */
  readonly hrefOf: (text: string) => string
}

export const SearchBox = ({ hrefOf }: Props) => {
  const { path, route } = useLocation()
  const { parameters } = useSearch()
  const shown = path === "/console/search" ? (parameters.get("q") ?? "") : ""
  const [written, write] = useState(shown)
  useEffect(() => write(shown), [shown])
  const onSubmit = (event: Event) => {
    event.preventDefault()
    if (written.trim() !== "") route(hrefOf(written))
  }
  return (
    <form class="search" role="search" onSubmit={onSubmit}>
      <Icon name="find" />
      <input
        id="search"
        type="search"
        value={written}
        placeholder={text.placeholder}
        aria-label={text.label}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        onInput={({ currentTarget }) => write(currentTarget.value)}
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
  )
}
