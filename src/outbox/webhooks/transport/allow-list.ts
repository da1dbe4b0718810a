/**
 * What an operator permits beside public addresses: networks, addresses, and hosts that may resolve to
 * internal addresses. An entry must be in the form in which it is compared. `10.0.0.5/8` or
 * `https://billing.corp` is rejected instead of being interpreted, because a list that permits more than its
 * author meant is a hole.
 */
import { invalidOption } from '../../../core/options/schema.ts'
import { type Address, isInNetwork, type Network, parseAddress, parseNetwork } from './address.ts'
import { isInternalName, nameOfHost } from './host-names.ts'

export interface AllowList {
	/** `host` as `nameOfHost` returns it. */
	hasHost(host: string): boolean
	hasAddress(address: Address): boolean
}

const EXPECTED =
	"an address ('10.0.0.5'), a network with no bits after its prefix ('10.0.0.0/8'), or a host name, exact or with all its subdomains ('billing.corp', '*.billing.corp')"

/** Throws an InvalidOptionError for the option `allow`. */
export function readAllowList(entries: unknown): AllowList {
	if (!Array.isArray(entries)) invalidOption('allow', entries, `an array; each entry is ${EXPECTED}`)
	const networks: Network[] = []
	const hosts = new Set<string>()
	const parents: string[] = []
	for (const [index, entry] of entries.entries()) {
		const option = `allow[${index}]`
		const network = typeof entry === 'string' ? parseNetwork(entry) : undefined
		if (network?.prefix === 0)
			invalidOption(option, entry, 'a network smaller than all addresses: public addresses need no entry')
		if (network) networks.push(network)
		else if (typeof entry === 'string' && entry.startsWith('*.'))
			parents.push(`.${readParent(option, entry)}`)
		else hosts.add(readHost(option, entry, entry))
	}
	return {
		hasHost: (host) => hosts.has(host) || parents.some((parent) => host.endsWith(parent)),
		hasAddress: (address) => networks.some((network) => isInNetwork(address, network)),
	}
}

/** `*.com` would let any customer's name resolve to internal addresses. */
function readParent(option: string, entry: string): string {
	const parent = readHost(option, entry, entry.slice(2))
	if (!parent.includes('.') && !isInternalName(`any.${parent}`))
		invalidOption(option, entry, 'a domain of your own: this entry permits the hosts of all its owners')
	return parent
}

/** What separates a host from the other parts of a URL, and what `new URL` removes or decodes. */
const NOT_IN_HOST = /[\s/\\:@?#%*]/

function readHost(option: string, entry: unknown, host: unknown): string {
	const isText = typeof host === 'string' && !NOT_IN_HOST.test(host) && URL.canParse(`https://${host}`)
	const name = isText ? nameOfHost(new URL(`https://${host}`).hostname) : ''
	// `10.0.0` is parsed as the address 10.0.0.0.
	if (name.split('.').includes('') || parseAddress(name)) invalidOption(option, entry, EXPECTED)
	return name
}
