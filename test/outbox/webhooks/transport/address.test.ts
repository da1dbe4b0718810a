import { BlockList, isIPv4, isIPv6 } from 'node:net'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isInNetwork, parseAddress, parseNetwork } from '../../../../src/outbox/webhooks/transport/address.ts'

const bytes = (text: string): Uint8Array | undefined => {
	const address = parseAddress(text)
	return address && Uint8Array.from(address)
}

test.each([
	['0.0.0.0', '00000000'],
	['127.0.0.1', '7f000001'],
	['255.255.255.255', 'ffffffff'],
	['::', '00000000000000000000000000000000'],
	['::1', '00000000000000000000000000000001'],
	['1::', '00010000000000000000000000000000'],
	['1:2:3:4:5:6:7::', '00010002000300040005000600070000'],
	['2001:DB8::ff00:42:8329', '20010db8000000000000ff0000428329'],
	['64:ff9b::192.0.2.33', '0064ff9b0000000000000000c0000221'],
	['::ffff:7f00:1', '7f000001'],
	['::FFFF:127.0.0.1', '7f000001'],
	['0:0:0:0:0:ffff:127.0.0.1', '7f000001'],
])('parses %s', (text, expected) => {
	expect(Buffer.from(bytes(text) ?? '').toString('hex')).toBe(expected)
})

test.each([
	'',
	'localhost',
	'127.1',
	'127.0.0.01',
	'0x7f.0.0.1',
	'2130706433',
	'256.0.0.1',
	'1.2.3.4.5',
	' 127.0.0.1',
	'127.0.0.1\n',
	'[::1]',
	'fe80::1%eth0',
	'fe80::1%1',
	'::1/128',
	':::',
	'1::2::3',
	':1:2:3:4:5:6:7',
	'1:2:3:4:5:6:7:8::',
	'1:2:3:4:5:6:7',
	'1:2:3:4:5:6:7:8:9',
	'12345::',
	'::g',
	'::127.0.0.1:1',
	'::127.0.0',
	'::ffff:0127.0.0.1',
	`${'0'.repeat(100_000)}::1`,
])('rejects %.40s', (text) => {
	expect(parseAddress(text)).toBeUndefined()
})

const hexGroup = fc.stringMatching(/^[\da-fA-F]{1,5}$/)
const almostAddress = fc.oneof(
	fc.ipV4(),
	fc.ipV6(),
	fc.stringMatching(/^\d{1,3}(\.\d{1,3}){2,4}$/),
	fc.stringMatching(/^[0-9a-f:.]{0,20}$/),
	fc
		.array(fc.oneof(hexGroup, fc.constant(''), fc.ipV4()), { minLength: 2, maxLength: 10 })
		.map((groups) => groups.join(':')),
)

describe('the parser and node:net', () => {
	test('accept the same texts', () => {
		fc.assert(
			fc.property(almostAddress, (text) => {
				expect(parseAddress(text) !== undefined).toBe(isIPv4(text) || isIPv6(text))
			}),
			{ numRuns: 5_000 },
		)
	})

	test('find the same address in each of its forms', () => {
		const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), {
			minLength: 8,
			maxLength: 8,
		})
		fc.assert(
			fc.property(groups, (values) => {
				const full = values.map((value) => value.toString(16).padStart(4, '0')).join(':')
				// `new URL` writes the shortest form.
				const short = new URL(`http://[${full}]`).hostname.slice(1, -1)
				expect(parseAddress(short)).toEqual(parseAddress(full))
			}),
		)
	})

	test('agree about the addresses of a network', () => {
		const octets = fc.array(fc.nat(255), { minLength: 4, maxLength: 4 })
		fc.assert(
			fc.property(octets, fc.nat(32), octets, fc.nat(32), (base, prefix, other, same) => {
				const mask = prefix === 0 ? 0 : (-1 << (32 - prefix)) >>> 0
				const toNumber = (parts: readonly number[]): number =>
					parts.reduce((value, part) => value * 256 + part, 0)
				const toText = (value: number): string =>
					[24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.')
				const start = (toNumber(base) & mask) >>> 0
				// Half of the addresses share their first bits with the network.
				const keep = same === 0 ? 0 : (-1 << (32 - same)) >>> 0
				const address = toText(((start & keep) | (toNumber(other) & ~keep)) >>> 0)
				const list = new BlockList()
				list.addSubnet(toText(start), prefix)
				const network = parseNetwork(`${toText(start)}/${prefix}`)
				const parsed = parseAddress(address)
				expect(network && parsed && isInNetwork(parsed, network)).toBe(list.check(address))
			}),
		)
	})
})

test('an IPv4 network has no IPv6 address', () => {
	const network = parseNetwork('10.0.0.0/8')
	expect(network && isInNetwork(parseAddress('a00::1') ?? [], network)).toBe(false)
})

test.each([
	'10.0.0.0/33',
	'10.0.0.5/8',
	'10.0.0.0/',
	'10.0.0.0/+8',
	'10.0.0.0/8/8',
	'::/129',
	'::1/64',
	'::ffff:10.0.0.0/8',
	'10/8',
	'x/8',
])('rejects the network %s', (text) => {
	expect(parseNetwork(text)).toBeUndefined()
})
