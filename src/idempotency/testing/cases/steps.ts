/** Steps survive what happens to their claim, and releases keep or forget a key. */
import type { StoredSteps } from '../../store/store.ts'
import { assertEqual } from '../harness/assertions.ts'
import { type CaseTable, OTHER_REQUEST, RESPONSE, type StoreHarness } from '../harness/harness.ts'

const CHARGE = { charge: '{"value":{"id":"ch_1"}}' }
const MAIL = { mail: '{"value":null}' }

/** Names that a plain object has already, or that a database could misread. */
const NAMES = [
	...[
		'__proto__',
		'constructor',
		'toString',
		'hasOwnProperty',
		'length',
		'',
		'0',
		'1e3',
		'a b',
		'a.b[0]',
		'$.a',
	],
	...[
		"it's",
		'"quoted"',
		'back\\slash',
		'line\nbreak',
		'tab\t',
		'ключ',
		'鍵',
		'🔑',
		'é',
		'e\u0301',
		'%s',
		'{a}',
	],
]

const stepsOf = (entries: readonly (readonly [name: string, value: unknown])[]): StoredSteps =>
	Object.fromEntries(entries.map(([name, value]) => [name, JSON.stringify({ value })]))

/** Stores steps and asserts that the next run gets them. */
async function expectKept(t: StoreHarness, steps: StoredSteps): Promise<void> {
	await t.released(steps)
	await t.expectClaim({ kind: 'claimed', steps })
}

export const steps: CaseTable = {
	'steps are kept over a takeover': async (t) => {
		await t.abandoned({}, CHARGE)
		const next = await t.claimed({ leaseMs: t.shortMs })
		assertEqual(next.steps, CHARGE, 'the steps')
		await t.save(next, MAIL)
		await t.letPass(t.shortMs)
		await t.expectClaim({ kind: 'claimed', steps: { ...CHARGE, ...MAIL } })
	},

	'steps are kept over a release': (t) => expectKept(t, CHARGE),

	'steps are kept over several releases': async (t) => {
		for (const [n, step] of [CHARGE, MAIL, {}, {}].entries()) {
			const claim = await t.claimed()
			assertEqual(Object.keys(claim.steps).length, Math.min(n, 2), 'the number of steps')
			await t.save(claim, step)
			await t.release(claim)
		}
	},

	'steps that are stored concurrently are all kept': async (t) => {
		const claim = await t.claimed()
		const all = stepsOf(Array.from({ length: 20 }, (_, n) => [`step ${n}`, n]))
		const entries = Object.entries(all)
		const saved = await t.concurrently(entries.length, async (store, n) => {
			const [name, value] = entries[n] ?? ['', '']
			return store.saveStep(claim, name, value)
		})
		assertEqual(saved, Array(entries.length).fill(true), 'the results of saveStep')
		await t.release(claim)
		await t.expectClaim({ kind: 'claimed', steps: all })
	},

	'a step with the same name again counts once': async (t) => {
		const claim = await t.claimed()
		await t.save(claim, CHARGE)
		await t.save(claim, CHARGE)
		assertEqual((await t.find()).steps, ['charge'], 'the steps')
	},

	'steps are dropped when the retention of a key that never completed is over': async (t) => {
		await t.abandoned({}, CHARGE)
		const next = await t.claimed({ leaseMs: t.shortMs, retentionMs: t.shortMs })
		assertEqual(next.steps, CHARGE, 'the steps')
		await t.letPass(2 * t.shortMs)
		await t.expectClaim({ kind: 'claimed', steps: {} }, OTHER_REQUEST)
	},

	'steps are dropped when the retention of the response is over': async (t) => {
		const claim = await t.claimed()
		await t.save(claim, CHARGE)
		await t.complete(claim, RESPONSE, t.shortMs)
		await t.letPass(t.shortMs)
		await t.expectClaim({ kind: 'claimed', steps: {} }, OTHER_REQUEST)
	},

	'steps can have any name': (t) => expectKept(t, stepsOf(NAMES.map((name, n) => [name, n]))),

	'steps can have any JSON value': (t) =>
		expectKept(
			t,
			stepsOf([
				['none', undefined],
				['null', null],
				['number', -1.5e300],
				['text', 'é 鍵 🔑 \u0000 \u2028 \ud800 " \\ \' %s $1 {}'],
				['nested', { list: [[], {}, [1, '2', null]], __proto__: undefined }],
				['large', 'x'.repeat(100_000)],
			]),
		),
}

export const releases: CaseTable = {
	'a released key without steps is forgotten, with the request that it was used for': async (t) => {
		await t.released()
		await t.expectGone()
		await t.expectClaim({ kind: 'claimed', steps: {} }, OTHER_REQUEST)
	},

	'a released key with steps belongs to its request, which runs with them': async (t) => {
		await t.released(CHARGE)
		await t.expectClaim({ kind: 'mismatch' }, OTHER_REQUEST)
		await t.expectClaim({ kind: 'claimed', steps: CHARGE }, { abandoned: 'reject' })
	},

	'a released key with steps is forgotten after its retention': async (t) => {
		const claim = await t.abandoned({}, CHARGE)
		await t.expectKind('claimed', { token: claim.token, leaseMs: t.shortMs, retentionMs: t.shortMs })
		await t.store.release(claim)
		await t.letPass(2 * t.shortMs)
		await t.expectGone()
		await t.expectClaim({ kind: 'claimed', steps: {} }, OTHER_REQUEST)
	},

	'a key that was taken over without steps is forgotten by its release': async (t) => {
		await t.abandoned()
		await t.released()
		await t.expectGone()
	},
}
