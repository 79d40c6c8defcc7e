// CRC-32C (Castagnoli), with which Google Cloud KMS and its callers detect changed bytes. `zlib.crc32` has another polynomial.

const reversedPolynomial = 0x82f63b78

const shift = (crc: number) => (crc & 1 ? (crc >>> 1) ^ reversedPolynomial : crc >>> 1)

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = shift(crc)
  return crc
})

/** The checksum as decimal text, as Google's JSON encodes 64-bit integers. */
export const crc32c = (bytes: Uint8Array): string => {
  let crc = 0xffffffff
  for (const byte of bytes) crc = (table[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8)
  return String((crc ^ 0xffffffff) >>> 0)
}
