// Recognises passwords that attackers try first: those made only of common words, names, digits and keyboard rows (security R59).
// The words come from the yearly published rankings of leaked passwords. A list of whole passwords would miss their combinations, so this
// file recognises what can be built from the words.

const words = new Set(
  `
password passwort passwd pass passw motdepasse contrasena senha parola haslo wachtwoord salasana losenord kennwort geheim secret secreto
admin administrator root user guest test testing tester demo default login logon welcome willkommen bienvenue bienvenido benvenuto hello
hallo hola bonjour changeme change letmein letme open opensesame sesame access enter server system service master manager office oracle
cisco windows microsoft google apple android samsung iphone internet facebook linkedin twitter youtube instagram computer network
security database backup support company business public private temp temporary initial start ready remember forgot please
qwerty qwertz azerty qwert asdf asdfgh zxcvbn qazwsx qazwsxedc qweasd qweasdzxc wsxedc qwaszx asdasd qweqwe zxczxc qweasdzx
abc abcd abcde abcdef abcabc abcdefg xyz aaa bbb zzz iloveyou iloveu loveyou ilove love lovely loveme lover lovers loving teamo tequiero
amor mylove baby babygirl babyboy honey sweet sweetie sweetheart darling angel angels princess prince queen king kings kingdom lucky
happy smile sunshine sunny summer sommer spring winter autumn herbst january february march april may june july august september october
november december monday tuesday wednesday thursday friday saturday sunday birthday christmas xmas easter halloween newyear holiday
dragon monkey tiger lion eagle falcon hawk wolf bear panda puppy kitty kitten doggy dog cat cats dogs horse fish dolphin shark spider
butterfly bunny rabbit turtle snake phoenix unicorn panther cougar jaguar mustang pony bull bulldog
football soccer baseball basketball hockey tennis golf golfer rugby racing sports player winner champion liverpool arsenal chelsea
manchester barcelona realmadrid juventus bayern dortmund cowboys steelers yankees lakers eagles packers redsox
superman batman spiderman ironman pokemon pikachu naruto minecraft fortnite roblox starwars startrek jedi yoda matrix gandalf hobbit
harrypotter potter disney mickey minnie snoopy tigger pooh bambi cinderella elsa zelda mario sonic nintendo playstation xbox gamer gaming
game games killer hunter ranger ninja samurai warrior soldier marine sniper trooper pirate wizard magic merlin ghost shadow knight
thunder lightning storm rain snow fire flame water ocean river mountain forest flower rose lily daisy jasmine cherry orange banana apple
lemon strawberry peach peaches pepper ginger cookie cookies chocolate candy sugar coffee cheese pizza chicken butter popcorn
red blue green yellow black white purple pink silver gold golden diamond crystal pearl ruby star stars starlight moon moonlight sun
heaven paradise freedom liberty peace justice victory power energy action rocket turbo nitro ferrari porsche mercedes toyota honda
nissan suzuki yamaha harley corvette camaro chevy ford audi bmw volvo
america american england english london paris berlin madrid roma milano texas california florida newyork boston chicago dallas houston
australia canada mexico brazil brasil india china japan korea russia poland germany deutschland france espana italia
michael jennifer jessica jordan ashley nicole daniel andrew joshua matthew robert thomas george charlie william anthony jonathan
christopher christian christine david james john joseph richard steven kevin brian patrick alexander alexandra alexandre alex alexis
amanda andrea angela anna anne barbara benjamin bailey brandon brandy brittany buster carlos charles chelsea claudia cooper daniela
danielle diana edward elizabeth emily emma eric francis frank gabriel hannah harry heather jackson jack jacob jason jeremy johnny
justin karen katherine kelly kimberly larry laura lauren leslie linda lisa louise lucas madison maggie maria mariana marina mark martin
mary max maxwell megan melissa michelle miguel mike molly morgan natalie natasha nathan nicholas oliver olivia pamela patricia paul
peter philip rachel rebecca roberto ronaldo ryan samantha samuel sandra sara sarah scott sophie stephanie steve susan taylor teresa
tiffany timothy tony vanessa veronica victor victoria vincent zachary alice bob carol dave eve
jesus christ jesuschrist god godisgood blessed blessing faith hope grace church bible allah buddha amen angelo
money cash dollar rich millionaire bitcoin crypto
fuck fucker fuckyou fuckoff shit bitch asshole pussy sexy sex hot hottie bigdick
mother mom mommy mama father dad daddy papa family brother sister friend friends friendship bestfriend forever always together
music rock rocknroll metal guitar drummer piano dancer dance metallica nirvana slipknot eminem beatles linkinpark greenday blink
trustno trustnoone nobody nothing something whatever anything everything
hacker hacking cheater cracker joker jokers poker casino vegas
student teacher school college university doctor nurse lawyer engineer police captain sergeant
super mega ultra great good nice cool best first last new old big little hot my the one two three four five six seven eight nine ten
`
    .trim()
    .split(/\s+/),
);

/** Rows and columns of keyboards; a part of one in either direction is one piece. */
const keyboard = [
  '1234567890',
  'qwertyuiop',
  'qwertzuiop',
  'azertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'yxcvbnm',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm',
  '1q2w3e4r5t6y7u8i9o0p',
];
const rows = keyboard.flatMap((row) => [row, [...row].reverse().join('')]);

const disguises: Record<string, string> = {
  '@': 'a',
  '4': 'a',
  '0': 'o',
  '1': 'i',
  '!': 'i',
  '3': 'e',
  '5': 's',
  $: 's',
  '7': 't',
};
/** A password of at most this many pieces is common. */
const maxPieces = 4;
const maxWord = 40;

/**
 * Whether a password consists of at most four common pieces: words, the given names, parts of keyboard rows, runs of characters that
 * repeat or count, up to four digits, up to three signs. Case and substitutions such as p@ssw0rd make no difference.
 * @param names the names that an attacker knows: the user's own name and address, and the service's name
 */
export function isCommonPassword(password: string, names: readonly string[] = []): boolean {
  const text = password.normalize('NFKC').toLowerCase();
  if (/^(.{1,6})\1+$/su.test(text)) return true;
  const plain = [...text].map((character) => disguises[character] ?? character).join('');
  const known = new Set(names.map((name) => name.normalize('NFKC').toLowerCase()).filter((name) => name.length >= 3));
  const isWord = (part: string) => words.has(part) || known.has(part);
  const isPiece = (from: number, to: number) =>
    isWord(text.slice(from, to)) || isWord(plain.slice(from, to)) || isStroke(text.slice(from, to));
  // for each position the minimum number of pieces that make up the text before it
  const fewest = [0];
  for (let to = 1; to <= text.length; to++) {
    let best = Infinity;
    for (let from = Math.max(0, to - maxWord); from < to; from++)
      if (fewest[from]! < best - 1 && isPiece(from, to)) best = fewest[from]! + 1;
    fewest.push(best);
  }
  return fewest[text.length]! <= maxPieces;
}

function isStroke(part: string): boolean {
  if (/^(\d{1,4}|[^\p{L}\p{N}]{1,3})$/u.test(part)) return true;
  if (part.length < 3) return false;
  const steps = new Set(
    Array.from({ length: part.length - 1 }, (_, at) => part.charCodeAt(at + 1) - part.charCodeAt(at)),
  );
  return (steps.size === 1 && [-1, 0, 1].includes([...steps][0]!)) || rows.some((row) => row.includes(part));
}
