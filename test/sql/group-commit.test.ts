import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { GroupCommit, RUN_ALONE } from '../../src/sql/group-commit.ts'
import { SqliteConnection } from '../../src/sql/sqlite-connection.ts'
import { virtualRuntime } from '../../src/testing/index.ts'
import { temporaryFile } from '../support/temporary-file.ts'

const NO_PAUSE = 1

function setup() {
	const file = temporaryFile()
	const runtime = virtualRuntime({ seed: NO_PAUSE })
	const executed: string[] = []
	const database = new DatabaseSync(file)
	const exec = database.exec.bind(database)
	database.exec = (sql) => {
		executed.push(sql)
		exec(sql)
	}
	const connection = new SqliteConnection(
		() => database,
		() => 0,
	)
	connection.exec('CREATE TABLE numbers (n INTEGER PRIMARY KEY)')
	const user = new DatabaseSync(file)
	onTestFinished(() => {
		user.close()
		connection.close()
	})
	const add = (n: number) => () => connection.run('INSERT INTO numbers VALUES (?)', n)
	const all = () => connection.rows('SELECT n FROM numbers ORDER BY n').flat()
	const count = (sql: string) => executed.filter((text) => text === sql).length
	return { runtime, connection, group: new GroupCommit(connection, runtime), user, add, all, count }
}

describe('work of one tick', () => {
	test('shares one transaction, and each call gets its own result', async () => {
		const { group, add, all, count } = setup()
		expect(await Promise.all([group.write(add(1)), group.write(add(2)), group.read(all)])).toEqual([
			1,
			1,
			[1, 2],
		])
		expect(count('COMMIT')).toBe(1)
	})

	test('runs again one by one if a part of it fails, so that only that part is rejected', async () => {
		const { group, add, all } = setup()
		const modes: boolean[] = []
		const outcomes = await Promise.allSettled([
			group.write(add(1)),
			group.write((isSolo) => {
				modes.push(isSolo)
				return add(1)()
			}),
			group.write(add(2)),
		])
		expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
		expect(modes).toEqual([false, true])
		expect(all()).toEqual([1, 2])
	})

	test('runs again alone if it asks for that', async () => {
		const { group, add, all } = setup()
		const outcome = group.write((isSolo) => {
			add(7)()
			if (!isSolo) throw RUN_ALONE
			return 'alone'
		})
		expect(await outcome).toBe('alone')
		expect(all()).toEqual([7])
	})

	test('takes no write lock if all of it reads', async () => {
		const { group, all, count } = setup()
		await group.read(all)
		expect([count('BEGIN'), count('BEGIN IMMEDIATE')]).toEqual([1, 0])
	})
})

describe('while another connection writes', () => {
	test('writes wait with growing pauses, and reads do not wait', async () => {
		const { runtime, group, user, add, all } = setup()
		user.exec('BEGIN IMMEDIATE')
		let isWritten = false
		const written = group.write(add(1)).then(() => {
			isWritten = true
		})
		expect(await group.read(all)).toEqual([])
		await runtime.advance(1_000)
		expect(isWritten).toBe(false)
		user.exec('COMMIT')
		await runtime.advance(100)
		await written
		expect(all()).toEqual([1])
	})

	test('a write is rejected after ten seconds, with the error of the database', async () => {
		const { runtime, group, user, add, all } = setup()
		user.exec('BEGIN IMMEDIATE')
		const outcome = expect(group.write(add(1))).rejects.toMatchObject({ errcode: 5 })
		await runtime.advance(11_000)
		await outcome
		user.exec('COMMIT')
		await group.write(add(2))
		expect(all()).toEqual([2])
	})

	test('idle resolves only when the waiting work has ended', async () => {
		const { runtime, group, user, add } = setup()
		await group.idle()
		user.exec('BEGIN IMMEDIATE')
		const written = group.write(add(1))
		let isIdle = false
		const idle = group.idle().then(() => {
			isIdle = true
		})
		await runtime.advance(500)
		expect(isIdle).toBe(false)
		user.exec('COMMIT')
		await runtime.advance(100)
		await Promise.all([written, idle])
	})
})

test('a failed commit rejects all work of the tick, and leaves nothing behind', async () => {
	const { connection, group, add, all } = setup()
	connection.exec(`
		CREATE TABLE child (n INTEGER REFERENCES numbers DEFERRABLE INITIALLY DEFERRED);
		CREATE TRIGGER orphan AFTER INSERT ON numbers BEGIN INSERT INTO child VALUES (99); END`)
	const outcomes = await Promise.allSettled([group.write(add(1)), group.read(all)])
	expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
	expect(all()).toEqual([])
})
