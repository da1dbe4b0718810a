/** Before the tests that import it: generates the client of Prisma. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { HOME, ORMS } from './installed.ts'
import { generatePrismaClient } from './prisma.ts'

export default function prepare(): void {
	rmSync(join(HOME, '.cache'), { recursive: true, force: true })
	generatePrismaClient(ORMS, join(HOME, 'prisma', 'schema.prisma'))
}
