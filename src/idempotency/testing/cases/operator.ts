/** What operators see, and what they decide about keys whose request has ended without a response. */
import type { StoredKey, StoredResponse } from '../../store/store.ts'
import { assertEqual, assertNear } from '../harness/assertions.ts'
import {
	type CaseTable,
	CHARGE,
	ID,
	LONG_MS,
	OTHER_ID,
	OTHER_REQUEST,
	RESPONSE,
	type StoreHarness,
} from '../harness/harness.ts'

/** Without a response the next request runs. */
async function expectResolve(t: StoreHarness, isResolved: boolean, response?: StoredResponse): Promise<void> {
	assertEqual(await t.store.resolve(ID, response, LONG_MS), isResolved, 'the result of resolve')
}

async function expectDelete(t: StoreHarness, isDeleted: boolean, isForced?: boolean): Promise<void> {
	assertEqual(await t.store.delete(ID, isForced), isDeleted, `the result of delete(id, ${isForced})`)
}

/** Asserts that neither decision has an effect. */
async function expectUnresolvable(t: StoreHarness): Promise<void> {
	const before = await t.snapshot()
	await expectResolve(t, false, RESPONSE)
	await expectResolve(t, false)
	assertEqual(await t.snapshot(), before, 'the key')
}

const UNRESOLVABLE: Readonly<Record<string, (t: StoreHarness) => Promise<unknown>>> = {
	'was never used': async () => {},
	'is running': (t) => t.claimed(),
	'was taken over': async (t) => {
		await t.abandoned()
		await t.claimed()
	},
	'is held by a heartbeat': async (t) => t.store.heartbeat(await t.abandoned(), LONG_MS),
	'is completed': (t) => t.completed(),
	'is completed without a response': (t) => t.unstored(),
	'is released': (t) => t.released(CHARGE),
	'has expired': (t) => t.expired(),
	'is resolved': async (t) => {
		await t.abandoned()
		await expectResolve(t, true, { ...RESPONSE, status: 404 })
	},
}

export const resolve: CaseTable = {
	'an abandoned key that is resolved with a response is completed with it': async (t) => {
		await t.abandoned({}, CHARGE)
		await expectResolve(t, true, RESPONSE)
		await t.expectClaim({ kind: 'completed', response: RESPONSE }, { abandoned: 'reject' })
		assertEqual((await t.find()).state, 'completed', 'the state')
	},

	'the response of an operator is kept for the given retention': async (t) => {
		await t.abandoned()
		assertEqual(await t.store.resolve(ID, RESPONSE, t.shortMs), true, 'the result of resolve')
		await t.letPass(t.shortMs)
		await t.expectKind('claimed', OTHER_REQUEST)
	},

	'an abandoned key that is resolved without a response runs again, with its steps': async (t) => {
		await t.abandoned({}, CHARGE)
		await expectResolve(t, true)
		await t.expectClaim({ kind: 'mismatch' }, OTHER_REQUEST)
		await t.expectClaim({ kind: 'claimed', steps: CHARGE }, { abandoned: 'reject' })
	},

	'an abandoned key without steps that is resolved without a response runs again': async (t) => {
		await t.abandoned()
		await expectResolve(t, true)
		await t.expectClaim({ kind: 'claimed', steps: {} }, { abandoned: 'reject' })
	},

	...Object.fromEntries(
		Object.entries(UNRESOLVABLE).map(([state, prepare]) => [
			`resolve returns false and changes nothing if the key ${state}`,
			async (t: StoreHarness) => {
				await prepare(t)
				await expectUnresolvable(t)
			},
		]),
	),
}

/** States in which a key is deleted without force. */
const DELETABLE: Readonly<Record<string, (t: StoreHarness) => Promise<unknown>>> = {
	'is completed': (t) => t.completed(),
	'is completed without a response': (t) => t.unstored(),
	'is released with steps': (t) => t.released(CHARGE),
	'was abandoned': (t) => t.abandoned({}, CHARGE),
}

export const deletion: CaseTable = {
	...Object.fromEntries(
		Object.entries(DELETABLE).map(([state, prepare]) => [
			`a key that ${state} is deleted, and its next request is a first one`,
			async (t: StoreHarness) => {
				await prepare(t)
				await expectDelete(t, true)
				await t.expectGone()
				await expectDelete(t, false)
				await t.expectClaim({ kind: 'claimed', steps: {} }, { ...OTHER_REQUEST, abandoned: 'reject' })
			},
		]),
	),

	'delete returns false for a key that was never used, and for one that has expired': async (t) => {
		await expectDelete(t, false)
		await t.complete(await t.claimed(), RESPONSE, t.shortMs)
		await t.letPass(t.shortMs)
		await expectDelete(t, false, true)
	},

	'a running key is not deleted unless it is forced': async (t) => {
		await t.claimed()
		const before = await t.snapshot()
		await expectDelete(t, false)
		await expectDelete(t, false, false)
		assertEqual(await t.snapshot(), before, 'the key')
		await expectDelete(t, true, true)
		await t.expectGone()
	},

	'a request whose key was deleted writes nothing': async (t) => {
		const claim = await t.claimed()
		await t.store.delete(ID, true)
		assertEqual(await t.store.complete(claim, RESPONSE, LONG_MS), false, 'the result of complete')
		await t.expectGone()
	},

	'delete leaves other keys alone': async (t) => {
		await t.completed()
		await t.completed(RESPONSE, { id: OTHER_ID })
		await t.store.delete(ID, true)
		assertEqual((await t.find(OTHER_ID)).state, 'completed', 'the state of the other key')
	},
}

/** Asserts the fields of a key that do not depend on time. */
async function expectFound(t: StoreHarness, expected: Partial<StoredKey>): Promise<StoredKey> {
	const found = await t.find()
	const { state, status, bodyBytes, steps } = found
	const fixed = { status: null, bodyBytes: null, steps: [], ...expected }
	assertEqual({ state, status, bodyBytes, steps: [...steps].sort() }, fixed, 'the key')
	return found
}

export const find: CaseTable = {
	'find returns undefined for a key that was never used': (t) => t.expectGone(),

	'find returns a running key with the rest of its lease': async (t) => {
		const claim = await t.claimed()
		await t.save(claim, { mail: '{"value":1}', ...CHARGE })
		const found = await expectFound(t, { state: 'running', steps: ['charge', 'mail'] })
		assertNear(found.leaseLeftMs, LONG_MS, 'the lease')
		assertEqual(found.completedAt, null, 'the time of completion')
		assertNear(found.expiresAt, found.createdAt + 2 * LONG_MS, 'the time of expiry')
	},

	'find returns an abandoned key as running with a negative lease': async (t) => {
		await t.abandoned()
		const { leaseLeftMs } = await expectFound(t, { state: 'running' })
		assertEqual(Number(leaseLeftMs) < 0, true, 'whether the lease is negative')
	},

	'find returns a completed key with the status and the size of its response': async (t) => {
		await t.completed()
		const found = await expectFound(t, { state: 'completed', status: 201, bodyBytes: 2 })
		assertEqual(found.leaseLeftMs, null, 'the lease')
		assertNear(found.completedAt, found.createdAt, 'the time of completion')
	},

	'find returns a key that was completed without a response as unstored': async (t) => {
		await t.unstored()
		const found = await expectFound(t, { state: 'unstored' })
		assertEqual(found.leaseLeftMs, null, 'the lease')
		assertNear(found.completedAt, found.createdAt, 'the time of completion')
	},

	'find returns a released key with its steps': async (t) => {
		await t.released(CHARGE)
		const found = await expectFound(t, { state: 'released', steps: ['charge'] })
		assertEqual([found.leaseLeftMs, found.completedAt], [null, null], 'lease and time of completion')
	},

	'a takeover keeps the time of creation': async (t) => {
		await t.abandoned()
		const { createdAt } = await t.find()
		await t.claimed()
		assertEqual((await t.find()).createdAt, createdAt, 'the time of creation')
	},
}
