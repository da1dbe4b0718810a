/** Returns a random UUID. It ignores the runtime's random source, which tests may seed: two runs must not share idempotency keys. */
export const randomUuid = (): string =>
	// Missing in pages that were not loaded over TLS.
	crypto.randomUUID?.() ?? `${digits(8)}-${digits(4)}-4${digits(3)}-a${digits(3)}-${digits(12)}`

const digits = (count: number): string =>
	Array.from(crypto.getRandomValues(new Uint8Array(count)), (byte) => (byte % 16).toString(16)).join('')
