// Recognizes URLs that probably contain a key.

/** Keys of providers have more characters than the words of paths. */
const minKeyLength = 20

const isKey = (part: string): boolean =>
  part.length >= minKeyLength && /^[A-Za-z0-9_-]+$/u.test(part) && /[A-Za-z]/u.test(part) && /[0-9]/u.test(part)

/** Whether the path or the query has a long part of letters and digits, or the URL has user information. */
export const looksLikeKey = (url: string): boolean => {
  const parsed = URL.parse(url)
  if (parsed === null) return false
  if (parsed.username + parsed.password !== "") return true
  return `${parsed.pathname}${parsed.search}`.split(/[/?&=.,;:~+]/u).some(isKey)
}
