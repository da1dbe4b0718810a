/** Returns a random UUID. It ignores the runtime's random source, which tests may seed: two runs must not share idempotency keys. */
export function randomUuid(): string {
	// Missing in pages that were not loaded over TLS.
	if ('randomUUID' in crypto) return crypto.randomUUID()
	const bytes = (crypto as Crypto).getRandomValues(new Uint8Array(16))
	// Version 4 and the variant.
	bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
	bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
	const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
	return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
