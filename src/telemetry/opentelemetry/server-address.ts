export interface ServerAddress {
	readonly address: string
	readonly port: number
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }
const MAX_ORIGINS = 1_000
const UNKNOWN: ServerAddress = { address: '_OTHER', port: 0 }

/** Host and port by origin. Parsed once for each origin, because parsing takes longer than everything else for a request. */
export class ServerAddresses {
	readonly #known = new Map<string, ServerAddress>()

	of(origin: string): ServerAddress {
		const known = this.#known.get(origin)
		if (known) return known
		const address = parse(origin)
		if (this.#known.size < MAX_ORIGINS) this.#known.set(origin, address)
		return address
	}
}

/** With `circuitBreakerKey`, a space and the key follow the origin. */
function parse(key: string): ServerAddress {
	const [origin = key] = key.split(' ', 1)
	if (!URL.canParse(origin)) return UNKNOWN
	const { protocol, hostname, port } = new URL(origin)
	return {
		// An IPv6 address has brackets in URLs only.
		address: hostname.replace(/^\[(.*)\]$/, '$1'),
		port: port === '' ? (DEFAULT_PORTS[protocol] ?? 0) : Number(port),
	}
}
