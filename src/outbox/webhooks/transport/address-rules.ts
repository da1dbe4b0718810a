/**
 * Decides which addresses are public: the only ones that a customer's URL may lead to. Pure.
 *
 * Every range of the IANA registries of special-purpose addresses is rejected, also the few that the
 * registries call globally reachable (AS112, AMT, 6to4 relays): they are services of the network operator,
 * and no receiver of webhooks has such an address. In IPv6 the default is the other way round, because most
 * of it is not assigned: only 2000::/3 can be public.
 *
 * Addresses that contain an IPv4 address: an IPv4-mapped one is judged as that IPv4 address, because the
 * system connects to it. NAT64, 6to4, Teredo and IPv4-compatible ones are rejected whatever they contain. A
 * gateway of the network translates them, and the gateway is inside. (Rejected: to judge them by the
 * contained address. A network may translate with other prefixes and exceptions, which the application does
 * not know.) An allow list can permit NAT64, and then the contained address is judged too.
 */
import { type Address, isInNetwork, type Network, parseAddress, parseNetwork } from './address.ts'
import type { AllowList } from './allow-list.ts'

/** What an address is for, such as `private network`, for messages. */
export type AddressRange = string

/** The first match counts, so that a part of a range may have a name of its own. */
const IPV4: readonly (readonly [network: string, range: AddressRange])[] = [
	['0.0.0.0/8', 'this network'],
	['10.0.0.0/8', 'private network'],
	// Metadata of Alibaba Cloud.
	['100.100.100.200/32', 'cloud metadata'],
	['100.64.0.0/10', 'carrier-grade NAT'],
	['127.0.0.0/8', 'loopback'],
	// The platform of Azure, at a public address that only its own machines reach.
	['168.63.129.16/32', 'cloud metadata'],
	['169.254.169.254/32', 'cloud metadata'],
	['169.254.0.0/16', 'link-local'],
	['172.16.0.0/12', 'private network'],
	['192.0.0.0/24', 'protocol assignments'],
	['192.0.2.0/24', 'documentation'],
	['192.31.196.0/24', 'AS112'],
	['192.52.193.0/24', 'AMT'],
	['192.88.99.0/24', '6to4 relay'],
	['192.168.0.0/16', 'private network'],
	['192.175.48.0/24', 'AS112'],
	['198.18.0.0/15', 'benchmarks'],
	['198.51.100.0/24', 'documentation'],
	['203.0.113.0/24', 'documentation'],
	['224.0.0.0/4', 'multicast'],
	['255.255.255.255/32', 'broadcast'],
	['240.0.0.0/4', 'reserved'],
]

const IPV6: readonly (readonly [network: string, range: AddressRange])[] = [
	['::/128', 'unspecified'],
	['::1/128', 'loopback'],
	['::/96', 'IPv4-compatible'],
	['64:ff9b::/96', 'NAT64'],
	['64:ff9b:1::/48', 'NAT64'],
	['100::/64', 'discard-only'],
	['2001::/32', 'Teredo'],
	['2001::/23', 'protocol assignments'],
	['2001:db8::/32', 'documentation'],
	['2002::/16', '6to4'],
	['2620:4f:8000::/48', 'AS112'],
	['3fff::/20', 'documentation'],
	['5f00::/16', 'segment routing'],
	// Metadata of AWS and of Google Cloud.
	['fd00:ec2::254/128', 'cloud metadata'],
	['fd20:ce::254/128', 'cloud metadata'],
	['fc00::/7', 'private network'],
	['fe80::/10', 'link-local'],
	['fec0::/10', 'site-local'],
	['ff00::/8', 'multicast'],
]

const GLOBAL_UNICAST = network('2000::/3')

/** Networks whose addresses contain an IPv4 address, and where it starts. */
const CONTAINS_IPV4: readonly (readonly [network: Network, start: number])[] = [
	[network('64:ff9b::/96'), 12],
	[network('2002::/16'), 2],
]

const RANGES: readonly (readonly [network: Network, range: AddressRange])[] = [...IPV4, ...IPV6].map(
	([text, range]) => [network(text), range],
)

/** Returns the special range that an address is in; undefined for a public address. */
export function specialRangeOf(address: Address): AddressRange | undefined {
	const [, range] = RANGES.find(([network]) => isInNetwork(address, network)) ?? []
	if (range !== undefined || address.length === 4) return range
	return isInNetwork(address, GLOBAL_UNICAST) ? undefined : 'not assigned'
}

/**
 * Returns why an address must not be connected to; undefined if it is public or allowed. An allowed
 * address that contains an IPv4 address needs this one to be public or allowed too: `64:ff9b::/96` in the
 * allow list says that the network has NAT64, and not that its private addresses may be reached through it.
 */
export function rejectedRangeOf(text: string, allow: AllowList): AddressRange | undefined {
	const address = parseAddress(text)
	return address === undefined ? 'not an IP address' : rejectAddress(address, allow)
}

function rejectAddress(address: Address, allow: AllowList): AddressRange | undefined {
	const range = specialRangeOf(address)
	if (range === undefined) return undefined
	if (!allow.hasAddress(address)) return range
	const [, start] = CONTAINS_IPV4.find(([network]) => isInNetwork(address, network)) ?? []
	return start === undefined ? undefined : rejectAddress(address.slice(start, start + 4), allow)
}

function network(text: string): Network {
	const found = parseNetwork(text)
	if (!found) throw new TypeError(`invalid network ${text}`)
	return found
}
