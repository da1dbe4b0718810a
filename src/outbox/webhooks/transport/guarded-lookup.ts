/**
 * The `lookup` of every connection: it resolves a host and checks the result, and the socket connects to
 * exactly the addresses that were checked. There is no second resolution, so a resolver that changes its
 * answer gains nothing.
 *
 * (Rejected: to resolve and check first, and then to call the global `fetch`. It resolves again, and an
 * attacker's name server returns 127.0.0.1 the second time (DNS rebinding). The `connect` option of an undici
 * `Agent` would do, but undici would be a dependency, and the `fetch` of Node does not expose its own. A
 * `net.BlockList` as the option `blockList` of a connection does not exist in all supported versions of
 * Node.)
 */
import type { LookupFunction } from 'node:net'
import { safeMessage } from '../../../core/classify/safe-get.ts'
import { type AddressRange, rejectedRangeOf } from './address-rules.ts'
import type { AllowList } from './allow-list.ts'
import { nameOfHost } from './host-names.ts'

/**
 * Resolves a host name to all its addresses. `dns.lookup` of Node has this signature. It uses the thread pool
 * of the process, which a name server that does not respond can fill. A resolver of your own, such as one
 * with a cache, avoids that.
 */
export type WebhookLookup = (
	hostname: string,
	options: { readonly all: true; readonly family?: number; readonly hints?: number },
	callback: (
		error: Error | null,
		addresses: readonly { readonly address: string; readonly family: number }[],
	) => void,
) => void

/**
 * A connection to this address is not permitted. It does not know the URL: one lookup may serve several
 * requests.
 */
export class RejectedAddress extends Error {
	readonly address: string
	readonly range: AddressRange

	constructor(address: string, range: AddressRange) {
		super(`${address} is not public (${range})`)
		this.address = address
		this.range = range
	}
}

/** Returns why a host must not be connected to at an address; undefined if it may be. */
export function rejectConnection(
	hostname: string,
	address: string,
	allow: AllowList,
): RejectedAddress | undefined {
	if (allow.hasHost(nameOfHost(hostname))) return undefined
	const range = rejectedRangeOf(address, allow)
	return range === undefined ? undefined : new RejectedAddress(address, range)
}

/**
 * One internal address among public ones rejects the host. Connecting to the public ones only would be safe
 * too, but such an answer is either an attempt (the system tries addresses in turn until one responds), or a
 * split of internal and public DNS by mistake; the error shows it to its owner, and a delivery that depends
 * on the order of addresses would not.
 */
export function guardedLookup(resolve: WebhookLookup, allow: AllowList): LookupFunction {
	return (hostname, { family, hints, all }, callback) => {
		let isDone = false
		const finish = (error: unknown, found?: unknown): void => {
			// A resolver that calls back twice cannot replace what was checked.
			if (isDone) return
			isDone = true
			const result = error ? toError(error) : checkAddresses(hostname, found, allow)
			// Never within the call, as resolvers with a cache do: Node would report a closed connection instead of the error.
			queueMicrotask(() => {
				if (result instanceof Error) callback(result, [])
				else if (all) callback(null, result)
				else callback(null, ...firstOf(result))
			})
		}
		const options = {
			all: true as const,
			...(typeof family === 'number' && { family }),
			...(hints !== undefined && { hints }),
		}
		try {
			const result: unknown = resolve(hostname, options, finish)
			// The rejection of an async function would end the process.
			if (result instanceof Promise) result.catch(finish)
		} catch (error) {
			finish(error)
		}
	}
}

type Addresses = { address: string; family: 4 | 6 }[]

/**
 * Returns a copy of the addresses, which nothing else can change afterwards, or why the host is not connected
 * to.
 */
function checkAddresses(hostname: string, found: unknown, allow: AllowList): Addresses | Error {
	if (!Array.isArray(found)) return new TypeError(INVALID_RESULT)
	const texts: unknown[] = found.map((one: unknown) => Object(one).address)
	if (!texts.every((text) => typeof text === 'string')) return new TypeError(INVALID_RESULT)
	// `dns.lookup` has this code, so both are classified alike.
	if (texts.length === 0)
		return Object.assign(new Error(`lookup ENOTFOUND ${hostname}`), { code: 'ENOTFOUND', hostname })
	const rejected = texts
		.map((text) => rejectConnection(hostname, text, allow))
		.find((one) => one !== undefined)
	// The family is the one of the text, which is what the system connects to.
	return rejected ?? texts.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
}

const INVALID_RESULT = 'The option "lookup" must call back with an array of { address, family }'

const firstOf = ([first]: Addresses): [address: string, family: number] => [
	first?.address ?? '',
	first?.family ?? 0,
]

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(safeMessage(error)))
