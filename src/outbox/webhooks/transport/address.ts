/**
 * IP addresses and networks as bytes. `node:net` has `isIP` and `BlockList`, but a `BlockList` does not say
 * which of its ranges an address is in, and the rules must run in tests and at the creation of an endpoint
 * without any state. The bytes are also what a tested rule is about: a text has many forms, and SSRF filters
 * that compare texts are bypassed with another form of the same address.
 */

/** 4 bytes of IPv4, or 16 of IPv6. */
export type Address = readonly number[]

/** All addresses whose first `prefix` bits are those of `address`. */
export interface Network {
	readonly address: Address
	readonly prefix: number
}

const IPV4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/
/** The longest form is 39 characters, and 45 with IPv4 at its end. */
const MAX_LENGTH = 45
const GROUPS = 8
/** The bytes before the IPv4 address of an IPv4-mapped one, `::ffff:a.b.c.d`. */
const MAPPED: Address = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

/**
 * Returns the bytes of an address in the strict notation, which is what a resolver and `socket.remoteAddress`
 * return, or undefined. An IPv4-mapped address is the IPv4 address, because the system connects to that one.
 * A text with a scope id (`fe80::1%eth0`) is no address: only link-local addresses have one. Octal, hexadecimal
 * and short forms of IPv4 are no addresses here. `new URL` has converted the ones of a URL.
 */
export function parseAddress(text: string): Address | undefined {
	if (text.length > MAX_LENGTH) return undefined
	if (!text.includes(':')) return parseIPv4(text)
	const bytes = parseIPv6(text)
	return bytes !== undefined && startsWith(bytes, MAPPED, 96) ? bytes.slice(12) : bytes
}

function parseIPv4(text: string): Address | undefined {
	const parts = IPV4.exec(text)?.slice(1)
	// A leading zero means octal in some systems, so such a text has two meanings.
	if (!parts?.every((part) => Number(part) <= 255 && (part === '0' || !part.startsWith('0'))))
		return undefined
	return parts.map(Number)
}

function parseIPv6(text: string): Address | undefined {
	const groups = withHexEnd(text)
	const [head = '', tail, ...more] = groups?.split('::') ?? []
	if (groups === undefined || more.length > 0) return undefined
	const before = parseGroups(head)
	if (tail === undefined) return before?.length === 2 * GROUPS ? before : undefined
	const after = parseGroups(tail)
	if (!before || !after) return undefined
	const zeros = 2 * GROUPS - before.length - after.length
	// `::` stands for one group at least.
	return zeros < 2 ? undefined : [...before, ...Array<number>(zeros).fill(0), ...after]
}

/** Writes an IPv4 address at the end as two groups. Returns undefined if the end is none. */
function withHexEnd(text: string): string | undefined {
	if (!text.includes('.')) return text
	const start = text.lastIndexOf(':') + 1
	const [a = 0, b = 0, c = 0, d = 0] = parseIPv4(text.slice(start)) ?? [NaN]
	if (Number.isNaN(a)) return undefined
	return `${text.slice(0, start)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

function parseGroups(text: string): Address | undefined {
	if (text === '') return []
	const groups = text.split(':')
	if (!groups.every((group) => /^[\da-f]{1,4}$/i.test(group))) return undefined
	return groups.flatMap((group) => {
		const value = Number.parseInt(group, 16)
		return [value >> 8, value & 255]
	})
}

/**
 * Returns the network of a text such as `10.0.0.0/8`, or of one address. Undefined if it is invalid, or if bits
 * after the prefix are set: `10.0.0.5/8` may be meant as one address or as the whole network.
 */
export function parseNetwork(text: string): Network | undefined {
	const [start = '', length, ...more] = text.split('/')
	const address = parseAddress(start)
	if (!address || more.length > 0) return undefined
	const bits = 8 * address.length
	if (length === undefined) return { address, prefix: bits }
	// The prefix of an IPv4-mapped network counts other bits than the ones of the address.
	const isMapped = bits === 32 && start.includes(':')
	const prefix = Number(length)
	if (isMapped || !/^\d{1,3}$/.test(length) || prefix > bits) return undefined
	return isInNetwork(zeroAfter(address, prefix), { address, prefix: bits }) ? { address, prefix } : undefined
}

const zeroAfter = (address: Address, prefix: number): Address =>
	address.map((byte, index) => byte & maskOf(prefix - 8 * index))

/** The mask of a byte of which the first `bits` count. */
const maskOf = (bits: number): number => (bits >= 8 ? 255 : bits <= 0 ? 0 : 255 & (255 << (8 - bits)))

export const isInNetwork = (address: Address, network: Network): boolean =>
	address.length === network.address.length && startsWith(address, network.address, network.prefix)

const startsWith = (address: Address, start: Address, prefix: number): boolean =>
	start.every((byte, index) => ((byte ^ (address[index] ?? 0)) & maskOf(prefix - 8 * index)) === 0)
