/** A test file that starts servers, reports them, and hangs. guard.slow.test.ts interrupts its run. */
import { renameSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { test } from 'vitest'
import { postgresDatabase } from '../../support/postgres-database.ts'
import { startServers } from '../start-servers.ts'

test('hangs', async () => {
	const { folders, pid } = await startServers()
	const client = new pg.Client((await postgresDatabase()).connection)
	client.on('error', () => {})
	await client.connect()
	const { rows } = await client.query('show data_directory')
	const shared = String(rows[0].data_directory).replace(/\/data$/, '')
	const report = process.env['YAOKI_TEST_REPORT'] ?? ''
	writeFileSync(`${report}.part`, JSON.stringify({ pid, folders: [...folders, shared] }))
	renameSync(`${report}.part`, report)
	await new Promise(() => {})
})
