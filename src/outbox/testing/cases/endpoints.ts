/** Endpoints of webhooks: as rows, their changes, and which of them get an event. */
import assert from 'node:assert/strict'
import { assertFields, assertNear, HOUR, idsOf, MINUTE, required } from '../harness/assertions.ts'
import { type EndpointCase, endpointsOf } from '../harness/endpoints.ts'
import { MANY, OPERATOR } from '../harness/harness.ts'

type Cases = Readonly<Record<string, EndpointCase>>

/** Texts that a statement must not contain. */
const METACHARACTERS = ["' OR 1=1 --", '"', '\\', '%', '_', '$1', '?1', ':a', '{a,"b"}', 'a,b', 'NULL', 'ü😀']

export const endpointRows: Cases = {
	'returns an endpoint as it was inserted, enabled and with the time of the database': async (e) => {
		const row = e.row({ topics: ['order.*', 'b', 'a'], description: 'a shop' })
		const inserted = await e.store.insert(row, OPERATOR)
		const { createdAt, version, ...rest } = inserted
		const isNew = { disabledReason: null, disabledAt: null, failingSince: null, failures: 0 }
		assert.deepEqual(rest, { ...row, ...isNew })
		assert.equal(typeof version, 'number')
		assertNear(createdAt, await e.t.now(), 'createdAt')
		assert.deepEqual(await e.find(row.id), inserted)
		assert.deepEqual(await e.store.list({}, MANY), [inserted])
	},

	'finds, changes and deletes nothing with an unknown or invalid id': async (e) => {
		const id = await e.addOne()
		for (const other of [e.t.id(), 'no id at all', '']) {
			assert.equal(await e.store.find(other), undefined)
			assert.equal(await e.change(other, { url: 'https://example.org' }), undefined)
			assert.equal(await e.store.recordFailure(other), undefined)
			await e.store.recordSuccess(other)
			assert.equal(await e.store.delete(other, OPERATOR), false)
		}
		await e.expectList({}, [id])
		assert.equal((await e.t.store.audit({}, MANY)).length, 1)
	},

	'a second endpoint with the same id is rejected and changes nothing': async (e) => {
		const first = await e.insert()
		await assert.rejects(() => e.insert({ id: first.id, topics: ['other'] }))
		assert.deepEqual(await e.find(first.id), first)
		await e.expectMatching('other', [])
		assert.equal((await e.audit(first.id)).length, 1)
	},

	'keeps texts with metacharacters of SQL, and matches them literally': async (e) => {
		const plain = await e.addOne()
		for (const text of METACHARACTERS) {
			const part = { url: text, description: text, secrets: text, tenant: text, topics: [text, 'plain'] }
			const row = e.row(part)
			await e.store.insert(row, { by: text, reason: text })
			await e.expectEndpoint(row.id, row)
			await e.expectMatching(text, [row.id], text)
			await e.expectMatching(text, [])
			await e.expectList({ tenant: text, topic: text }, [row.id])
			const changed = required(await e.change(row.id, { ...part, topics: [`${text}!`] }), 'the endpoint')
			assertFields(changed, { ...part, topics: [`${text}!`] })
			await e.expectMatching(text, [], text)
			await e.expectMatching(`${text}!`, [row.id], text)
		}
		await e.expectList({ tenant: 'acme' }, [plain])
	},

	'lists by id, in pages without gaps and repetitions': async (e) => {
		const ids = await e.add(...Array.from({ length: 7 }, (_, n) => ({ tenant: n % 2 ? 'acme' : 'zen' })))
		const paged: string[] = []
		for (let page = await e.store.list({}, 3); page.length > 0; ) {
			paged.push(...idsOf(page))
			page = await e.store.list({}, 3, paged.at(-1))
		}
		assert.deepEqual(paged, ids)
		const odd = ids.filter((_, n) => n % 2)
		assert.deepEqual(idsOf(await e.store.list({ tenant: 'acme' }, 2)), odd.slice(0, 2))
		assert.deepEqual(idsOf(await e.store.list({ tenant: 'acme' }, 2, odd[1])), odd.slice(2))
	},

	'lists after an endpoint that was deleted': async (e) => {
		const [one = '', two] = await e.add({}, {})
		await e.store.delete(one, OPERATOR)
		assert.deepEqual(idsOf(await e.store.list({}, MANY, one)), [two])
	},

	'filters by tenant, topic, enabled and failing': async (e) => {
		const [a, b, c = '', d = ''] = await e.add(
			{ tenant: '' },
			{ topics: ['order.*', 'user.created'] },
			{ topics: ['*'] },
			{},
		)
		await e.disable(c)
		await e.store.recordFailure(d)
		await e.expectList({}, [a, b, c, d])
		await e.expectList({ tenant: undefined, topic: undefined, isEnabled: undefined }, [a, b, c, d])
		await e.expectList({ tenant: '' }, [a])
		await e.expectList({ tenant: 'acme' }, [b, c, d])
		await e.expectList({ tenant: 'ACME' }, [])
		// Exactly this topic or pattern.
		await e.expectList({ topic: 'order.created' }, [a, d])
		await e.expectList({ topic: 'order.*' }, [b])
		await e.expectList({ topic: '*' }, [c])
		await e.expectList({ topic: 'order' }, [])
		await e.expectList({ isEnabled: true }, [a, b, d])
		await e.expectList({ isEnabled: false }, [c])
		await e.expectList({ isFailing: true }, [d])
		await e.expectList({ tenant: 'acme', topic: 'order.created', isEnabled: true, isFailing: true }, [d])
		await e.expectList({ isEnabled: false, isFailing: true }, [])
	},

	'counts enabled, disabled and failing endpoints': async (e) => {
		const none = {
			enabled: 0,
			disabled: { operator: 0, failing: 0, gone: 0 },
			failing: 0,
			failingSince: null,
		}
		assert.deepEqual(await e.store.stats(), none)
		const ids = await e.add(...Array.from({ length: 7 }, () => ({})))
		const reasons = ['operator', 'failing', 'failing', 'gone'] as const
		// An endpoint that is disabled is not failing.
		await e.store.recordFailure(ids[0] ?? '')
		for (const [n, reason] of reasons.entries()) await e.disable(ids[n] ?? '', reason)
		await e.t.advance(HOUR)
		const first = required(await e.store.recordFailure(ids[4] ?? ''), 'the endpoint')
		await e.t.advance(HOUR)
		await e.store.recordFailure(ids[5] ?? '')
		assert.deepEqual(await e.store.stats(), {
			enabled: 3,
			disabled: { operator: 1, failing: 2, gone: 1 },
			failing: 2,
			failingSince: first.failingSince,
		})
	},

	'1,000 endpoints of one tenant and of as many tenants are listed, matched and counted': async (e) => {
		const count = 1_000
		const rows = Array.from({ length: count }, (_, n) =>
			e.row({ tenant: n % 2 ? 'acme' : `tenant ${n}`, topics: [`topic.${n % 100}`, 'all'] }),
		)
		for (let at = 0; at < count; at += 50)
			await Promise.all(rows.slice(at, at + 50).map((row) => e.store.insert(row, OPERATOR)))
		await e.expectList({}, idsOf(rows))
		const ofAcme = rows.filter(({ tenant }) => tenant === 'acme')
		await e.expectMatching('all', idsOf(ofAcme))
		await e.expectMatching(['topic.1', '*'], idsOf(ofAcme.filter(({ topics }) => topics[0] === 'topic.1')))
		await e.expectMatching(['all', 'topic.4'], [rows[4]?.id], 'tenant 4')
		assertFields(await e.store.stats(), { enabled: count, failing: 0 })
	},
}

export const endpointChanges: Cases = {
	'changes the given fields and increases the version': async (e) => {
		const before = await e.insert({ description: 'a', topics: ['a', 'b'] })
		const changes = [
			{ url: 'https://example.org' },
			{ description: null },
			{ topics: ['c'] },
			{ secrets: '["whsec_2"]' },
			{ url: 'https://example.net', description: '', topics: ['d', 'e'], secrets: '[]' },
		]
		let expected = before
		for (const change of changes) {
			const after = required(await e.change(before.id, change), 'the endpoint')
			assert.ok(after.version > expected.version)
			expected = { ...expected, ...change, version: after.version }
			assert.deepEqual(after, expected)
			assert.deepEqual(await e.find(before.id), expected)
		}
	},

	'changes of the topics decide immediately which events it gets': async (e) => {
		const id = await e.addOne({ topics: ['a', 'b'] })
		const other = await e.addOne({ topics: ['a', 'b'] })
		await e.change(id, { topics: ['b', 'c.*'] })
		await e.expectMatching('a', [other])
		await e.expectMatching('b', [id, other])
		await e.expectMatching('c.*', [id])
		await e.change(id, { topics: ['b'] })
		await e.expectMatching('c.*', [])
		await e.expectMatching('b', [id, other])
	},

	'a change of another version is not applied': async (e) => {
		const { id, version } = await e.insert()
		const changed = required(
			await e.change(id, { url: 'https://example.org', ifVersion: version }),
			'the first',
		)
		assert.equal(await e.change(id, { url: 'https://example.net', ifVersion: version }), undefined)
		assert.deepEqual(await e.find(id), changed)
		assert.equal((await e.audit(id)).length, 2)
		await e.change(id, { url: 'https://example.net', ifVersion: changed.version })
		await e.expectEndpoint(id, { url: 'https://example.net' })
	},

	'one of two relays that disable an endpoint at the same time does so': async (e) => {
		for (let round = 0; round < 5; round++) {
			const { id, version } = await e.insert()
			const change = { action: 'disable-endpoint', disabledReason: 'failing', ifVersion: version } as const
			const results = await e.t.concurrently(4, (store) => endpointsOf(store).change(id, change, OPERATOR))
			assert.equal(results.filter((result) => result !== undefined).length, 1)
			await e.expectEndpoint(id, { disabledReason: 'failing' })
			assert.equal((await e.audit(id)).length, 2)
		}
	},

	'concurrent changes are all applied, one after the other': async (e) => {
		const { id } = await e.insert()
		const results = await e.t.concurrently(8, (store, n) =>
			endpointsOf(store).change(
				id,
				{ action: 'change-endpoint', topics: [`topic.${n}`, 'all'], description: `${n}` },
				OPERATOR,
			),
		)
		assert.equal(new Set(results.map((result) => result?.version)).size, 8)
		const { description, topics } = await e.find(id)
		assert.deepEqual(topics, [`topic.${description}`, 'all'])
		for (let n = 0; n < 8; n++) await e.expectMatching(`topic.${n}`, `${n}` === description ? [id] : [])
		assert.equal((await e.audit(id)).length, 9)
	},

	'a disabled endpoint has a reason and a time, and gets no event until it is enabled': async (e) => {
		const { id } = await e.insert({ topics: ['a', 'b'] })
		await e.t.advance(HOUR)
		const disabled = required(await e.disable(id, 'gone'), 'the endpoint')
		assertFields(disabled, { disabledReason: 'gone' })
		assertNear(disabled.disabledAt, await e.t.now(), 'disabledAt')
		await e.expectMatching(['a', 'b'], [])
		await e.t.advance(HOUR)
		// Another reason does not change the time since when it is disabled.
		await e.disable(id, 'operator')
		await e.expectEndpoint(id, { disabledReason: 'operator', disabledAt: disabled.disabledAt })
		await e.change(id, { topics: ['b', 'c'] })
		await e.expectEndpoint(id, { disabledReason: 'operator', disabledAt: disabled.disabledAt })
		await e.expectMatching(['a', 'b', 'c'], [])
		await e.enable(id)
		await e.expectEndpoint(id, { disabledReason: null, disabledAt: null })
		await e.expectMatching('a', [])
		await e.expectMatching(['b', 'c'], [id])
	},

	'a deleted endpoint is gone, gets no event, and its messages stay': async (e) => {
		const [id = '', other] = await e.add({ topics: ['a', 'b'] }, { topics: ['a'] })
		const destination = `webhook:${id}`
		const queued = await e.t.enqueueMany(2, { destination })
		const died = await e.t.addDeadLetter({ destination })
		assert.equal(await e.store.delete(id, OPERATOR), true)
		assert.equal(await e.store.delete(id, OPERATOR), false)
		assert.equal(await e.store.find(id), undefined)
		await e.expectList({}, [other])
		await e.expectMatching(['a', 'b'], [other])
		await e.t.expectStatus('pending', queued)
		await e.t.expectStatus('dead', [died])
		await e.t.claimMany(2, { destination })
	},

	'changes and a deletion at the same time leave no endpoint that gets events': async (e) => {
		for (let round = 0; round < 5; round++) {
			const { id } = await e.insert({ topics: ['a'] })
			await e.t.concurrently<unknown>(4, (store, n) =>
				n === 3
					? endpointsOf(store).delete(id, OPERATOR)
					: endpointsOf(store).change(id, { action: 'change-endpoint', topics: [`b${n}`] }, OPERATOR),
			)
			await e.expectMatching(['a', 'b0', 'b1', 'b2'], [])
		}
	},
}

export const endpointFailures: Cases = {
	'counts failures since the last success, and keeps the time of the first': async (e) => {
		const { id } = await e.insert()
		const first = required(await e.store.recordFailure(id), 'the endpoint')
		assertFields(first, { failures: 1 })
		assertNear(first.failingSince, await e.t.now(), 'failingSince')
		await e.t.advance(HOUR)
		const second = required(await e.store.recordFailure(id), 'the endpoint')
		assert.deepEqual(second, { ...first, failures: 2 })
		assert.deepEqual(await e.find(id), second)
		assert.deepEqual(await e.store.recordSuccess(id), second)
		await e.expectEndpoint(id, { failures: 0, failingSince: null })
		await e.t.advance(HOUR)
		const third = required(await e.store.recordFailure(id), 'the endpoint')
		assertFields(third, { failures: 1 })
		assertNear(third.failingSince, await e.t.now(), 'failingSince')
	},

	'counts concurrent failures': async (e) => {
		const { id } = await e.insert()
		const rows = await e.t.concurrently(10, (store) => endpointsOf(store).recordFailure(id))
		const counts = rows.map((row) => row?.failures ?? 0)
		assert.deepEqual(
			counts.toSorted((a, b) => a - b),
			Array.from({ length: 10 }, (_, n) => n + 1),
		)
		assert.equal(new Set(rows.map((row) => row?.failingSince)).size, 1)
	},

	'a counted failure does not change the version; a success after it does': async (e) => {
		const { id, version } = await e.insert()
		const failing = required(await e.store.recordFailure(id), 'the endpoint')
		assert.equal(failing.version, version)
		await e.store.recordSuccess(id)
		// A relay that decided before the success does not disable the endpoint.
		const late = { disabledReason: 'failing', ifVersion: failing.version } as const
		assert.equal(await e.change(id, late), undefined)
		await e.expectEndpoint(id, { disabledReason: null })
	},

	'a success without failures changes nothing': async (e) => {
		const before = await e.insert()
		assert.equal(await e.store.recordSuccess(before.id), undefined)
		assert.deepEqual(await e.find(before.id), before)
	},

	'a success returns the endpoint with the failures that it ends': async (e) => {
		const { id } = await e.insert()
		await e.store.recordFailure(id)
		const failing = required(await e.store.recordFailure(id), 'the endpoint')
		assert.deepEqual(await e.store.recordSuccess(id), failing)
		assert.equal(await e.store.recordSuccess(id), undefined)
		assert.equal(await e.store.recordSuccess(e.t.id()), undefined)
	},

	'of concurrent successes one returns the endpoint': async (e) => {
		const { id } = await e.insert()
		await e.store.recordFailure(id)
		const ended = await e.t.concurrently(10, (store) => endpointsOf(store).recordSuccess(id))
		assert.equal(ended.filter((row) => row !== undefined).length, 1)
	},

	'a disabled endpoint keeps its failures and counts no further ones; enabling forgets them': async (e) => {
		const { id } = await e.insert()
		const failing = required(await e.store.recordFailure(id), 'the endpoint')
		const disabled = required(await e.disable(id, 'failing'), 'the endpoint')
		assertFields(disabled, { failures: 1, failingSince: failing.failingSince })
		await e.t.advance(MINUTE)
		assert.deepEqual(await e.store.recordFailure(id), disabled)
		assert.deepEqual(await e.find(id), disabled)
		await e.enable(id)
		await e.expectEndpoint(id, { failures: 0, failingSince: null })
	},

	'other changes keep the failures, and enabling an enabled endpoint forgets them': async (e) => {
		const { id } = await e.insert()
		await e.store.recordFailure(id)
		await e.change(id, { url: 'https://example.org' })
		await e.expectEndpoint(id, { failures: 1 })
		await e.enable(id)
		await e.expectEndpoint(id, { failures: 0, failingSince: null, disabledReason: null })
	},

	'is written to no audit record': async (e) => {
		const { id } = await e.insert()
		await e.store.recordFailure(id)
		await e.store.recordSuccess(id)
		assert.equal((await e.audit(id)).length, 1)
	},
}

const SECRET = 'whsec_hidden'

export const endpointAudit: Cases = {
	'records who created, changed and deleted an endpoint, with its address and never with secrets': async (
		e,
	) => {
		const part = { url: 'https://a.example', topics: ['a', 'b'], description: null }
		const { id } = await e.insert({ ...part, secrets: SECRET })
		const changes = { url: 'https://b.example', topics: ['b'], description: 'it\'s "new"' }
		await e.change(id, { url: changes.url, secrets: `${SECRET}_2` })
		await e.change(id, { ...changes })
		await e.change(id, { action: 'rotate-secret', secrets: `${SECRET}_3` })
		await e.disable(id)
		await e.enable(id)
		await e.store.delete(id, { by: 'bob@ops', reason: null })
		const rows = await e.audit(id)
		assert.deepEqual(
			rows.map(({ action, changes }) => [action, JSON.parse(changes ?? 'null')]),
			[
				['create-endpoint', part],
				['change-endpoint', { url: changes.url }],
				// The url is the same as before.
				['change-endpoint', { topics: changes.topics, description: changes.description }],
				['rotate-secret', null],
				['disable-endpoint', null],
				['enable-endpoint', null],
				['delete-endpoint', changes],
			],
		)
		const ofMessage = { messageId: null, topic: null, key: null, cause: null, payload: null, headers: null }
		for (const row of rows) assertFields(row, { ...ofMessage, destination: `webhook:${id}` })
		for (const row of rows.slice(0, -1)) assertFields(row, OPERATOR)
		assertFields(required(rows.at(-1), 'the deletion'), { by: 'bob@ops', reason: null })
		assertNear(rows[0]?.at, await e.t.now(), 'at')
		assert.ok(!JSON.stringify(rows).includes(SECRET), 'no record contains a secret')
	},

	'is filtered by action': async (e) => {
		const [one = '', two = ''] = await e.add({}, {})
		await e.disable(one)
		await e.disable(two, 'gone')
		const rows = await e.t.store.audit({ action: 'disable-endpoint' }, MANY)
		assert.deepEqual(
			rows.map(({ destination }) => destination),
			[`webhook:${two}`, `webhook:${one}`],
		)
	},
}

export const matching: Cases = {
	'returns the endpoints of the tenant that have one of the topics in their list': async (e) => {
		const [exact, pattern, both, all] = await e.add(
			{ topics: ['order.created'] },
			{ topics: ['order.*'] },
			{ topics: ['order.*', 'user.created', 'order.created'] },
			{ topics: ['*'] },
		)
		await e.expectMatching('order.created', [exact, both])
		await e.expectMatching(['order.created', 'order.*', '*'], [exact, pattern, both, all])
		await e.expectMatching(['order.deleted', 'order.*', '*'], [pattern, both, all])
		await e.expectMatching(['user.created', 'user.*', '*'], [both, all])
		// Topics are compared as they are.
		await e.expectMatching(['order', 'order.', 'ORDER.CREATED', 'order.%', ''], [])
		await e.expectMatching([], [])
	},

	'endpoints of other tenants, and without a tenant, are others': async (e) => {
		const [acme, zen, none] = await e.add({ tenant: 'acme' }, { tenant: 'zen' }, { tenant: '' })
		await e.expectMatching('order.created', [acme], 'acme')
		await e.expectMatching('order.created', [zen], 'zen')
		await e.expectMatching('order.created', [none], '')
		await e.expectMatching('order.created', [], 'Acme')
	},

	'finds endpoints in a transaction': async (e) => {
		const [one = '', two] = await e.add({}, {}, { tenant: 'zen' })
		await e.disable(one)
		const found = await e.t.transaction(async (tx) => {
			const none = await e.store.matching('acme', ['other'], tx)
			return [none, await e.store.matching('acme', ['order.created', '*'], tx)]
		}, 'commit')
		assert.deepEqual(found, [[], [two]])
	},

	'in a transaction, a synchronous store returns the ids themselves, and stores an event within the call':
		async (e) => {
			const isSync = e.t.store.insertSync !== undefined
			const id = await e.addOne()
			const event = e.event()
			await e.t.transaction(async (tx) => {
				const ids = e.store.matching('acme', ['order.created'], tx)
				assert.equal(Array.isArray(ids), isSync)
				assert.deepEqual(await ids, [id])
				const stored = e.store.insertEvent(event, tx)
				assert.equal(stored === undefined, isSync)
				await stored
			}, 'commit')
			assert.deepEqual(await e.events(), [event.id])
		},

	'a transaction with a snapshot sees the endpoints of its snapshot': async (e) => {
		const levels = (e.t.opened.isolationLevels ?? []).filter((level) => level !== 'read committed')
		const before = await e.addOne()
		for (const level of levels) {
			const found = await e.t.transaction(
				async (tx) => {
					await e.disable(before)
					const late = await e.addOne()
					const ids = await e.store.matching('acme', ['order.created'], tx)
					await e.enable(before)
					await e.store.delete(late, OPERATOR)
					return ids
				},
				'commit',
				level,
			)
			assert.deepEqual(found, [before], level)
		}
	},
}
