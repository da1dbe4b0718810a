/** Responses come back byte by byte as they were stored. */
import type { StoredResponse } from '../../store/store.ts'
import { assertEqual, assertThat } from '../harness/assertions.ts'
import { type CaseTable, hashOf, LONG_MS, RESPONSE, type StoreHarness } from '../harness/harness.ts'

async function expectReplayed(t: StoreHarness, change: Partial<StoredResponse>): Promise<void> {
	const response = { ...RESPONSE, ...change }
	await t.completed(response)
	await t.expectClaim({ kind: 'completed', response })
	const { status, bodyBytes } = await t.find()
	assertEqual([status, bodyBytes], [response.status, response.body.length], 'status and size')
}

/** Every pair of neighboring bytes occurs, so that no encoding can treat a sequence as text. */
function allPairs(): Uint8Array {
	const bytes = new Uint8Array(2 * 256 * 256)
	for (let n = 0; n < 256 * 256; n++) bytes.set([n >> 8, n & 255], 2 * n)
	return bytes
}

function bytes(length: number): Uint8Array {
	let state = 1
	return Uint8Array.from({ length }, () => {
		state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
		return state >>> 24
	})
}

export const responses: CaseTable = {
	'a body with all 256 bytes is replayed as it is': (t) =>
		expectReplayed(t, { body: Uint8Array.from({ length: 256 }, (_, n) => n) }),

	'a body with all pairs of bytes is replayed as it is': (t) => expectReplayed(t, { body: allPairs() }),

	'a body that looks like escaped text is replayed as it is': (t) =>
		expectReplayed(t, { body: new TextEncoder().encode('\\x00 \\000 %00 "\'\r\n$1 \u0000 é\ufeff🔑') }),

	'an empty body is replayed as it is': (t) => expectReplayed(t, { status: 204, body: new Uint8Array(0) }),

	'a body of 1 MiB is replayed as it is': (t) => expectReplayed(t, { body: bytes(2 ** 20) }),

	'a body that is a part of a larger buffer is replayed as it is': (t) =>
		expectReplayed(t, { body: bytes(100).subarray(10, 20) }),

	'a replayed body is a Uint8Array': async (t) => {
		await t.completed()
		const result = await t.claim()
		const isBytes = result.kind === 'completed' && result.response.body instanceof Uint8Array
		assertThat(isBytes, 'the body is not bytes')
	},

	'a stored body does not change with the buffer that was given': async (t) => {
		const body = bytes(10)
		const claim = await t.claimed()
		await t.store.complete(claim, { ...RESPONSE, body }, LONG_MS)
		body.fill(0)
		await t.expectClaim({ kind: 'completed', response: { ...RESPONSE, body: bytes(10) } })
	},

	'repeated headers are replayed in their order': (t) =>
		expectReplayed(t, {
			headers: [
				['set-cookie', 'b=1; Path=/'],
				['link', '</1>; rel="next"'],
				['set-cookie', 'a=2, Expires=Wed, 21 Oct 2026 07:28:00 GMT'],
				['Link', '</2>'],
				['set-cookie', 'b=1; Path=/'],
				['10', 'x'],
				['__proto__', 'y'],
				['2', ''],
			],
		}),

	'header values with unicode and quotes are replayed as they are': (t) =>
		expectReplayed(t, {
			headers: [
				['x-latin', 'caf\u00e9 \u00ff'],
				['x-unicode', 'ключ 鍵 🔑 e\u0301'],
				['x-quotes', '"a", \'b\' \\ %00 {1} $1 \t'],
			],
		}),

	'a response without headers is replayed as it is': (t) => expectReplayed(t, { headers: [] }),

	'a response with many long headers is replayed as it is': (t) =>
		expectReplayed(t, { headers: Array.from({ length: 200 }, (_, n) => [`x-${n}`, 'v'.repeat(200 + n)]) }),

	'every status is replayed as it is': async (t) => {
		for (const status of [200, 201, 204, 301, 304, 400, 404, 422, 451, 500, 599]) {
			const id = hashOf(`status ${status}`)
			await t.completed({ ...RESPONSE, status }, { id })
			await t.expectClaim({ kind: 'completed', response: { ...RESPONSE, status } }, { id })
		}
	},
}
