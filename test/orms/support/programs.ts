/**
 * The programs of docs/guide/orms*.md. A `##` or `###` heading starts a section. The first line of each of its blocks with code is a comment
 * with a file name, the last one is the program, and what it installs follows `npm install`.
 */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { blocks, ORM_PAGES, page } from '../../examples/markdown.ts'
import { folderOf, ORMS } from './installed.ts'
import { generatePrismaClient } from './prisma.ts'

interface File {
	readonly path: string
	readonly code: string
}

export interface Program {
	/** The name of its file. */
	readonly name: string
	readonly heading: string
	/** Itself and the files beside it. */
	readonly files: readonly File[]
	readonly installs: readonly string[]
}

const SHARED = 'shop.ts'

const sections: readonly Omit<Program, 'name'>[] = ORM_PAGES.flatMap((path) =>
	page(path).text.split(/^##+ /m),
).map(readSection)
const shared = sections.find(({ files }) => files.some(({ path }) => path === SHARED))

/** What the programs of orms.md print. */
export const PRINTS: string | undefined = page('docs/guide/orms.md').text.match(
	/^Each program prints.*?```text\n(.*?)```/ms,
)?.[1]

export const programs: readonly Program[] = sections
	.filter((section) => section !== shared && section.files.length > 0)
	.map(({ heading, files, installs }) => {
		const usesShared = files.some(({ code }) => code.includes(`'./${SHARED}'`))
		return {
			name: files.at(-1)?.path ?? '',
			heading,
			files: [...files, ...(usesShared ? (shared?.files ?? []) : [])],
			installs: [...installs, ...(usesShared ? (shared?.installs ?? []) : [])],
		}
	})

function readSection(text: string): Omit<Program, 'name'> {
	return {
		heading: text.split('\n', 1)[0] ?? '',
		files: blocks({ path: 'orms', text })
			.filter(({ language }) => language === 'ts' || language === 'prisma')
			.map(({ code }) => ({ path: /^\/\/ (\S+)\n/.exec(code)?.[1] ?? '', code })),
		installs: [...text.matchAll(/npm install ([^`\n]+)/g)].flatMap(([, names = '']) =>
			names.trim().split(' '),
		),
	}
}

/** Writes an empty project with the program, and with the packages that its section installs, and generates the client of Prisma. */
export function writeProject(folder: string, { files, installs }: Program): void {
	mkdirSync(folder, { recursive: true })
	writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n')
	for (const name of new Set(installs)) {
		const link = join(folder, 'node_modules', name)
		mkdirSync(dirname(link), { recursive: true })
		symlinkSync(folderOf(name), link)
	}
	for (const { path, code } of files) {
		const file = join(folder, path)
		writeFileSync(file, code)
		if (path.endsWith('.prisma')) generatePrismaClient(ORMS, file)
	}
}
