// A link to another site. Only links of the web are links: anything else, such as `javascript:`, is text.
import { words } from "../words.ts"

const isWeb = (href: string) => {
  const url = URL.parse(href)
  return url !== null && (url.protocol === "https:" || url.protocol === "http:")
}

export const ExternalLink = ({ href, label }: { readonly href: string; readonly label: string }) =>
  isWeb(href) ? (
    <a class="l" href={href} target="_blank" rel="noopener noreferrer">
      {label} <span aria-hidden="true">↗</span>
      <span class="sr">{words.newTab}</span>
    </a>
  ) : (
    <bdi>{label}</bdi>
  )
