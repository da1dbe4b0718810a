/** Characters for reference lines and shades. What has the same name has the same mark, in whichever plot it is. */
import type { ReferenceLine, Shade } from '../chart.ts'
import type { Cell, KeyEntry, Style } from './terminal.ts'

export interface Marks {
	readonly ofLine: (line: ReferenceLine) => Cell
	readonly ofShade: (shade: Shade) => Cell
	/** What they mean. A shade without a name has a mark but no meaning to tell. */
	readonly key: readonly KeyEntry[]
}

export function marksFor(lines: readonly ReferenceLine[], shades: readonly Shade[]): Marks {
	const [ofLine, lineKey] = assign('┈╌┄', 'dim', lines)
	const [ofShade, shadeKey] = assign('×!~#%&', 'yellow', shades)
	return { ofLine, ofShade, key: [...lineKey, ...shadeKey] }
}

interface Named {
	readonly label?: string | undefined
}

function assign(
	characters: string,
	style: Style,
	all: readonly Named[],
): readonly [of: (one: Named) => Cell, key: readonly KeyEntry[]] {
	const names = [...new Set(all.map(({ label = '' }) => label))]
	const of = ({ label = '' }: Named): Cell => {
		return { text: characters.charAt(names.indexOf(label) % characters.length), style }
	}
	return [of, names.filter((name) => name !== '').map((name) => ({ ...of({ label: name }), name }))]
}
