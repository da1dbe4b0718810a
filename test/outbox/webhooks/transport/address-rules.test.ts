import { BlockList, isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseAddress } from '../../../../src/outbox/webhooks/transport/address.ts'
import { rejectedRangeOf, specialRangeOf } from '../../../../src/outbox/webhooks/transport/address-rules.ts'
import { readAllowList } from '../../../../src/outbox/webhooks/transport/allow-list.ts'

const NOTHING = readAllowList([])

/** First and last addresses of each range. */
const REJECTED: Readonly<Record<string, readonly string[]>> = {
	'this network': ['0.0.0.0', '0.255.255.255'],
	'private network': [
		'10.0.0.0',
		'10.255.255.255',
		'172.16.0.0',
		'172.31.255.255',
		'192.168.0.0',
		'192.168.255.255',
		'::ffff:10.0.0.1',
		'::ffff:a00:1',
		'fc00::',
		'fd00::1',
		'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
	],
	'carrier-grade NAT': ['100.64.0.0', '100.127.255.255'],
	loopback: ['127.0.0.0', '127.0.0.1', '127.255.255.255', '::ffff:127.0.0.1', '::1'],
	'cloud metadata': [
		'169.254.169.254',
		'::ffff:169.254.169.254',
		'168.63.129.16',
		'100.100.100.200',
		'fd00:ec2::254',
		'fd20:ce::254',
	],
	'link-local': ['169.254.0.0', '169.254.255.255', '169.254.170.2', 'fe80::', 'fe80::1', 'febf:ffff::'],
	'protocol assignments': ['192.0.0.0', '192.0.0.192', '192.0.0.255', '2001:2::1', '2001:1ff::'],
	documentation: [
		'192.0.2.0',
		'192.0.2.255',
		'198.51.100.0',
		'198.51.100.255',
		'203.0.113.0',
		'203.0.113.255',
		'2001:db8::',
		'2001:db8:ffff::1',
		'3fff::1',
		'3fff:fff::1',
	],
	AS112: ['192.31.196.1', '192.175.48.1', '2620:4f:8000::1'],
	AMT: ['192.52.193.1'],
	'6to4 relay': ['192.88.99.1'],
	benchmarks: ['198.18.0.0', '198.19.255.255'],
	multicast: ['224.0.0.0', '239.255.255.255', 'ff00::', 'ff02::1'],
	reserved: ['240.0.0.0', '255.255.255.254'],
	broadcast: ['255.255.255.255'],
	unspecified: ['::'],
	'IPv4-compatible': ['::2', '::127.0.0.1', '::8.8.8.8'],
	NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::8.8.8.8', '64:ff9b:1::1', '64:ff9b:1:ffff::1'],
	'discard-only': ['100::', '100::ffff:ffff:ffff:ffff'],
	Teredo: ['2001::', '2001:0:ffff::1'],
	'6to4': ['2002::', '2002:7f00:1::1', '2002:808:808::1', '2002:ffff::'],
	'segment routing': ['5f00::', '5f00:ffff::'],
	'site-local': ['fec0::', 'feff:ffff::'],
	'not assigned': [
		'100:0:0:1::',
		'64:ff9b:2::1',
		'::ffff:0:127.0.0.1',
		'1fff::',
		'4000::1',
		'fe00::1',
		'::1:0:0:0',
	],
	'not an IP address': ['fe80::1%eth0', '127.1', '0x7f000001', '2130706433', '', 'localhost', '8.8.8.8 '],
}

describe.each(Object.entries(REJECTED))('%s', (range, addresses) => {
	test.each(addresses)('rejects %s', (address) => {
		expect(rejectedRangeOf(address, NOTHING)).toBe(range)
	})
})

/** The neighbours of the ranges, and some well-known services. Nothing connects to them. */
test.each([
	'1.0.0.0',
	'8.8.8.8',
	'9.255.255.255',
	'11.0.0.0',
	'100.63.255.255',
	'100.128.0.0',
	'126.255.255.255',
	'128.0.0.0',
	'168.63.129.15',
	'168.63.129.17',
	'169.253.255.255',
	'169.255.0.0',
	'172.15.255.255',
	'172.32.0.0',
	'191.255.255.255',
	'192.0.1.0',
	'192.0.3.0',
	'192.167.255.255',
	'192.169.0.0',
	'198.17.255.255',
	'198.20.0.0',
	'198.51.99.255',
	'203.0.114.0',
	'223.255.255.255',
	'::ffff:8.8.8.8',
	'::ffff:808:808',
	'2000::1',
	'2001:200::1',
	'2001:4860:4860::8888',
	'2001:db7:ffff::1',
	'2001:db9::1',
	'2003::1',
	'2606:4700:4700::1111',
	'3ffe:ffff::1',
	'3fff:1000::1',
])('accepts %s', (address) => {
	expect(rejectedRangeOf(address, NOTHING)).toBeUndefined()
})

const SUBNETS = {
	ipv4: '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3',
	ipv6: '::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20',
} as const

/** Half of the addresses are near a range: there are too many of IPv6. */
const anyAddress = (type: keyof typeof SUBNETS) => {
	const any = type === 'ipv4' ? fc.ipV4() : fc.ipV6()
	const starts = SUBNETS[type].split(' ').map((subnet) => subnet.split('/')[0] ?? '')
	const near = fc.tuple(fc.constantFrom(...starts), fc.nat(255), fc.nat(3)).map(([start, value, index]) => {
		if (type === 'ipv6')
			return `${start.replace(/::.*/, '').split(':').slice(0, 3).join(':')}:${value.toString(16)}::1`
		return start.replaceAll(/\d+/g, (part) => (index-- === 0 ? String(value) : part))
	})
	return fc.oneof(any, near).filter((text) => isIP(text) === (type === 'ipv4' ? 4 : 6))
}

test.each(['ipv4', 'ipv6'] as const)(
	'an %s address is public if it is in none of the ranges of a BlockList',
	(type) => {
		const special = new BlockList()
		for (const subnet of SUBNETS[type].split(' ')) {
			const [address = '', prefix] = subnet.split('/')
			special.addSubnet(address, Number(prefix), type)
		}
		const seen = new Set<boolean>()
		fc.assert(
			fc.property(anyAddress(type), (text) => {
				const address = parseAddress(text)
				const isSpecial = special.check(text, type)
				seen.add(isSpecial)
				// An IPv4-mapped address has the rules of IPv4.
				fc.pre(address?.length === (type === 'ipv4' ? 4 : 16))
				expect(specialRangeOf(address) !== undefined).toBe(isSpecial)
			}),
			{ numRuns: 3_000 },
		)
		expect(seen.size).toBe(2)
	},
)

describe('an allow list', () => {
	const rejected = (address: string, ...allow: readonly string[]): string | undefined =>
		rejectedRangeOf(address, readAllowList(allow))

	test('permits its addresses and networks, and no neighbour', () => {
		const allow = ['10.1.2.0/24', '192.168.0.7', 'fd12:3456::/32', '::1']
		for (const address of ['10.1.2.0', '10.1.2.255', '::ffff:10.1.2.3', '192.168.0.7', 'fd12:3456::1', '::1'])
			expect(rejected(address, ...allow), address).toBeUndefined()
		for (const address of ['10.1.3.0', '10.1.1.255', '192.168.0.8', 'fd12:3457::1', '::2', '127.0.0.1'])
			expect(rejected(address, ...allow), address).toBeDefined()
	})

	test('permits NAT64 addresses only if the IPv4 address in them is public or allowed', () => {
		const allow = ['64:ff9b::/96', '10.0.0.0/8']
		expect(rejected('64:ff9b::8.8.8.8', ...allow)).toBeUndefined()
		expect(rejected('64:ff9b::10.0.0.1', ...allow)).toBeUndefined()
		expect(rejected('64:ff9b::127.0.0.1', ...allow)).toBe('loopback')
		expect(rejected('64:ff9b::169.254.169.254', ...allow)).toBe('cloud metadata')
	})

	test('permits 6to4 addresses only if the IPv4 address in them is public or allowed', () => {
		expect(rejected('2002:808:808::1', '2002::/16')).toBeUndefined()
		expect(rejected('2002:7f00:1::1', '2002::/16')).toBe('loopback')
	})
})
