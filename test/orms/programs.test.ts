/** Each section of docs/guide/orms.md, copied into an empty project with the packages that it installs, runs and prints what the page says. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { start } from '../../scripts/runtimes/processes.ts'
import { tsc } from '../../scripts/tools.ts'
import { postgresDatabase } from '../support/postgres-database.ts'
import { temporaryFolder } from '../support/temporary-file.ts'
import { HOME, IS_LOWEST } from './support/installed.ts'
import { PRINTS, type Program, programs, writeProject } from './support/programs.ts'

const isServer = ({ name }: Program): boolean => name.endsWith('-server.ts')
const CODE = join(HOME, '.cache', 'programs')

describe('the programs of the guide', () => {
	for (const program of programs.filter((one) => !isServer(one)))
		test(`${program.heading}: ${program.name} runs in an empty project`, async () => {
			await using database = await postgresDatabase()
			const folder = temporaryFolder()
			writeProject(folder, program)
			const env = { ...process.env, DATABASE_URL: database.url, NO_COLOR: '1' }
			const { stdout, report } = await start(process.execPath, [program.name], folder, { env })
			expect(stdout, report).toBe(PRINTS)
		})

	test('every function for an ORM has a program', () => {
		const code = programs.flatMap(({ files }) => files.map((file) => file.code)).join('\n')
		for (const name of [
			'drizzle',
			'kysely',
			'knex',
			'mikroOrm',
			'postgresJs',
			'prisma',
			'sequelize',
			'typeorm',
		])
			expect(code).toContain(`{ tx: ${name}Tx(`)
	})

	// The page shows the newest versions, and runs with the lowest ones; their types are of older compilers.
	test.skipIf(IS_LOWEST)('compile with strict options, and so do the tests of ORMs', () => {
		for (const program of programs) writeProject(join(CODE, program.name), program)
		expect(tsc('-p', HOME).output).toBe('')
	})
})
