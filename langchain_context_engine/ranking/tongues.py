"""What questions in other languages than English say: what asks for the newest, for a reason, for a place.

A table for each language, of alternatives of a regular expression; `wording.py` reads them. A word that
English has too (`comment`, `come`, `dove`) asks only beside another of its own language.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TONGUES", "Tongue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tongue:
    """The words of a language.

    Attributes:
        newest: What asks for the newest by itself.
        last: What asks for it beside a thing that has an order of time: the last element of a list is none.
        things: What has an order of time.
        releases: Of these, what is a release.
        records: What people wrote down.
        several: Things in the plural; "" where the language does not tell.
        said: What else such a question is made of.
        code: What asks where or how something is done.
        use: What asks how something is used.
        history: What asks why or when something became so.
        commits: What asks which commit it was.
        tests: Tests.
        needs: A question without a match of it is in another language.
        is_spaced: Words stand apart.
    """

    newest: str
    last: str
    things: str
    releases: str
    records: str
    several: str = ""
    said: str = ""
    code: str
    use: str
    history: str
    commits: str
    tests: str
    needs: str = ""
    is_spaced: bool = True


GERMAN = Tongue(
    newest=r"neu(?:e)?ste[nrsm]?|aktuellste[nrsm]?|jüngste[nrsm]?|(?<!als )zuletzt|kürzlich|was ist neu"
    r"|was gibt es neues",
    last=r"letzte[nrsm]?|vorig\w+",
    things=r"änderung\w*|commits?|versionen?|version|releases?|veröffentlichung\w*|fix(?:es)?"
    r"|korrektur\w*|behebung\w*"
    r"|aktualisierung\w*|updates?|einträge|eintrag|merges?|beschl[uü]ss\w*|entscheidung\w*|treffen|notiz\w*"
    r"|nachricht\w*|neuerung\w*|mal|sicherheitskorrektur\w*|sicherheitsupdates?",
    releases=r"releases?|versionen|version|veröffentlich\w+|was ist neu",
    records=r"beschl[uü]ss\w*|beschlossen|entschieden|entscheidung\w*|treffen|besprechung\w*|notiz\w*"
    r"|nachricht\w*|gesagt",
    several=r"änderungen|commits|versionen|releases|korrekturen|aktualisierungen|updates|einträge|merges",
    said=r"was|wer|wann|wo|wie|wurden?|wird|werden|ist|sind|war|waren|gab|gibt|hat|haben|es|der|die|das"
    r"|den|dem|des"
    r"|eine?[mnrs]?|am|an|in|im|auf|von|vom|zu|zum|zur|für|mit|bei|beim|über|und|sich|welche[mnrs]?"
    r"|geändert|getan"
    r"|gemacht|passiert|hinzugefügt|dazugekommen|veröffentlicht|behoben|projekt|aktuell\w*|dieses?"
    r"|unser\w*|wir|ich|neues?",
    code=r"wo (?:ist|sind|wird|werden|steht|stehen|passiert|genau)|in welche[mnrs]? (?:datei|funktion"
    r"|klasse|methode|modul)"
    r"|welche[mnrs]? (?:\w{1,30} )?(?:datei|funktion|klasse|methode|modul|konstante)|implementier\w*"
    r"|quell(?:code|text)"
    r"|wie (?:wird|werden|funktioniert|arbeitet|berechnet|entscheidet|ist|sind)|was passiert,? wenn",
    use=r"wie (?:kann|können|soll|muss|lässt|füge|richte|installiere|konfiguriere|verwende|benutze|nutze"
    r"|mache|baue|starte"
    r"|lege|ändere|schalte|aktiviere|deaktiviere)|kann (?:ich|man)|dokument(?:ation|iert)|anleitung|handbuch"
    r"|installier\w*|konfigur\w*|einrichten|eingerichtet|aktivieren|deaktivieren",
    history=r"warum|weshalb|wieso|aus welchem grund|wann wurden?|geändert|entfernt|eingeführt|abgeschafft"
    r"|rückgängig|nicht mehr",
    commits=r"welche[mnrs]? (?:\w{1,30} )?(?:commits?|pull requests?|prs?|merge)",
    tests=r"tests?|getestet|testfälle|testfall",
)
FRENCH = Tongue(
    newest=r"(?:le|la|les) plus récente?s?|(?<!moins )récemment|dernièrement|quoi de neuf|nouveautés?",
    last=r"derni(?:er|ère)s?|récente?s?",
    things=r"modifications?|changements?|commits?|versions?|correctifs?|corrections?|mises? à jour"
    r"|publications?|sorties?"
    r"|releases?|ajouts?|fusions?|entrées?|décisions?|réunions?|notes?|messages?|fonctionnalités?|fois"
    r"|évolutions?",
    releases=r"versions?|releases?|publiée?s?|sorties?|publications?|quoi de neuf|nouveautés?",
    records=r"décisions?|décidé\w*|réunions?|notes?|messages?|dit|convenu",
    several=r"modifications|changements|commits|versions|correctifs|corrections|mises à jour|ajouts|fusions",
    said=r"qu|quoi|que|quel(?:le)?s?|qui|quand|est|ce|sont|était|a|ont|été|fut|il|elle|on|y|le|la|les|un"
    r"|une|des|du|de|d|l"
    r"|au|aux|à|en|dans|sur|pour|avec|par|et|se|s|c|n|plus|cette?|ces|notre|nous|je|changé\w*|modifié\w*"
    r"|apportée?s?"
    r"|faite?s?|ajoutée?s?|corrigée?s?|effectuée?s?|projet|dépôt|passé",
    code=r"où (?:est|sont|se|sont-ils|exactement)|dans quel(?:le)? (?:fichier|fonction|classe|méthode|module)"
    r"|quel(?:le)? (?:fichier|fonction|classe|méthode|module|constante)|implément\w*|code source"
    r"|comment (?:est|sont|fonctionne\w*|se|marche\w*)|que se passe-t-il",
    use=r"comment (?:puis-je|peut-on|faire|faut-il|utiliser|installer|configurer|ajouter|activer"
    r"|désactiver|dois-je|on|je|créer)"
    r"|documentation|documentée?s?|manuel|guide|installer|configurer|configuration|activer|désactiver"
    r"|peut-on",
    history=r"pourquoi|pour quelle raison|quand a|supprimée?s?|retirée?s?|introduite?s?|modifiée?s?"
    r"|remplacée?s?|ne \w{1,30} plus",
    commits=r"quels? (?:commits?|pull requests?)|quelle (?:fusion|pr)",
    tests=r"tests?|testée?s?",
)
SPANISH = Tongue(
    newest=r"más (?:reciente|nuev[oa])s?|(?<!menos )recientemente|últimamente|qué hay de nuevo"
    r"|novedad(?:es)?",
    last=r"[úu]ltim[oa]s?|recientes?",
    things=r"cambios?|modificaci(?:ón|ones)|commits?|versi(?:ón|ones)|correcci(?:ón|ones)|arreglos?"
    r"|actualizaci(?:ón|ones)"
    r"|lanzamientos?|publicaci(?:ón|ones)|releases?|fusi(?:ón|ones)|entradas?|decisi(?:ón|ones)"
    r"|reuni(?:ón|ones)|notas?"
    r"|mensajes?|novedad(?:es)?|funci(?:ón|ones) añadidas?|vez|parches?",
    releases=r"versi(?:ón|ones)|lanzamientos?|lanzad[oa]s?|publicad[oa]s?|releases?|qué hay de nuevo"
    r"|novedad(?:es)?",
    records=r"decisi(?:ón|ones)|decid\w+|reuni(?:ón|ones)|notas?|mensajes?|dijo|acord\w+",
    several=r"cambios|modificaciones|commits|versiones|correcciones|arreglos|actualizaciones|lanzamientos"
    r"|parches",
    said=r"qué|que|cuál(?:es)?|cual|quién|cuándo|es|son|fue|fueron|era|ha|han|hubo|hay|se|hizo|hicieron"
    r"|el|la|lo|los|las|un"
    r"|una|unos|de|del|al|a|en|sobre|para|por|con|y|su|este|esta|nuestr[oa]|más|cambió|cambiado"
    r"|modificad[oa]s?|añadid[oa]s?"
    r"|hech[oa]s?|realizad[oa]s?|proyecto|repositorio",
    code=r"d[óo]nde (?:está|están|se|es)|en qué (?:archivo|fichero|función|clase|método|módulo)"
    r"|qué (?:archivo|fichero|función|clase|método|módulo|constante)|implement\w*|código fuente"
    r"|c[óo]mo (?:se (?:calcula|decide|implementa|detecta|guarda|comprueba)|funciona\w*|está|es)"
    r"|qué (?:pasa|ocurre|sucede)",
    use=r"c[óo]mo (?:puedo|se puede|hago|debo|instal\w+|configur\w+|us\w+|añad\w+|activ\w+|desactiv\w+"
    r"|cre\w+|podemos)"
    r"|documentaci[óo]n|documentad[oa]s?|manual|guía|instalar|configurar|configuración|activar|desactivar"
    r"|se puede",
    history=r"por qué|por cuál razón|cuándo se|eliminad[oa]s?|se eliminó|introducid[oa]s?|se introdujo"
    r"|cambió|ya no",
    commits=r"(?:qué|cuál) (?:commits?|pull requests?)",
    tests=r"pruebas?|tests?|probad[oa]s?",
)
PORTUGUESE = Tongue(
    newest=r"mais (?:recente|nov[oa])s?|(?<!menos )recentemente|ultimamente|o que há de novo|novidades?",
    last=r"[úu]ltim[oa]s?|recentes?",
    things=r"mudanças?|alteraç(?:ão|ões)|modificaç(?:ão|ões)|commits?|vers(?:ão|ões)|correç(?:ão|ões)"
    r"|atualizaç(?:ão|ões)"
    r"|lançamentos?|publicaç(?:ão|ões)|releases?|entradas?|decis(?:ão|ões)|reuni(?:ão|ões)|notas?"
    r"|mensage(?:m|ns)|novidades?|vez",
    releases=r"vers(?:ão|ões)|lançamentos?|lançad[oa]s?|releases?|publicad[oa]s?|o que há de novo|novidades?",
    records=r"decis(?:ão|ões)|decid\w+|reuni(?:ão|ões)|notas?|mensage(?:m|ns)|disse|combin\w+",
    several=r"mudanças|alterações|modificações|commits|versões|correções|atualizações|lançamentos",
    said=r"qual|quais|que|quem|quando|é|são|foi|foram|era|há|houve|se|fez|o|a|os|as|um|uma|de|do|da|dos"
    r"|das|no|na|nos|nas|em"
    r"|ao|sobre|para|por|com|e|este|esta|nosso|nossa|mais|mudou|mudaram|alterad[oa]s?|feit[oa]s?"
    r"|adicionad[oa]s?|projeto|repositório",
    code=r"onde (?:está|estão|se|é|são|fica)|em que (?:arquivo|ficheiro|função|classe|método|módulo)"
    r"|(?:qual|que) (?:arquivo|ficheiro|função|classe|método|módulo)|implement\w*|código[- ]fonte"
    r"|como (?:é|são|funciona\w*|está)|o que acontece",
    use=r"como (?:posso|faço|devo|se pode|instal\w+|configur\w+|us[aeo]\w*|adicion\w+|ativ\w+|desativ\w+"
    r"|cri\w+|podemos)"
    r"|documentação|documentad[oa]s?|manual|guia|instalar|configurar|configuração|ativar|desativar",
    history=r"por que|por quê|porque razão|quando foi|removid[oa]s?|introduzid[oa]s?|mudou|já não"
    r"|não \w{1,30} mais",
    commits=r"(?:que|qual|quais) (?:commits?|pull requests?)",
    tests=r"testes?|testad[oa]s?",
)
ITALIAN = Tongue(
    newest=r"più (?:recent[ei]|nuov[oaie])|(?<!meno )recentemente|ultimamente|di recente"
    r"|cosa c['’ ]è di nuovo|novità",
    last=r"ultim[oaie]|recent[ei]",
    things=r"modific(?:a|he)|cambiament[oi]|commit|version[ei]|correzion[ei]|aggiornament[oi]|rilasc(?:io|i)"
    r"|pubblicazion[ei]|release|vo(?:ce|ci)|decision[ei]|riunion[ei]|not[ae]|messagg(?:io|i)|funzionalità"
    r"|volta|aggiunt[ae]",
    releases=r"version[ei]|rilasc\w+|release|pubblicat[oaie]|cosa c['’ ]è di nuovo|novità",
    records=r"decision[ei]|decis[oaie]|riunion[ei]|not[ae]|messagg(?:io|i)|detto|concordat[oaie]",
    several=r"modifiche|cambiamenti|versioni|correzioni|aggiornamenti|rilasci|gli ultimi|le ultime",
    said=r"quali?|qual|che|cosa|chi|quando|è|sono|era|stat[oaie]|ha|hanno|c|il|lo|la|i|gli|le|un|una|l|di"
    r"|del|della|dei|dell|nell|all|dall|sull|al"
    r"|alla|a|in|nel|nella|su|sul|sulla|per|con|e|questo|questa|nostr[oa]|più|cambiat[oaie]|fatt[oaie]"
    r"|modificat[oaie]"
    r"|aggiunt[oaie]|progetto|repository",
    code=r"dove (?:si|è|sono|viene|vengono|sta)|in quale (?:file|funzione|classe|metodo|modulo)"
    r"|quale (?:file|funzione|classe|metodo|modulo|costante)|implement(?:a|ato|ata|azione)|codice sorgente"
    r"|come (?:è|viene|vengono|funziona\w*|sono)|cosa succede",
    use=r"come (?:posso|si (?:usa|installa|configura|aggiunge|attiva|disattiva|fa)|faccio|devo|possiamo"
    r"|installare|configurare|usare)"
    r"|documentazione|documentat[oaie]|manuale|guida|installare|configurare|configurazione|attivare"
    r"|disattivare",
    history=r"perché|perchè|per quale motivo|quando è stat[oa]|rimoss[oaie]|introdott[oaie]|cambiat[oaie]"
    r"|non \w{1,30} più",
    commits=r"quali? (?:commit|pull request)",
    tests=r"collaud\w+|testat[oaie]",
)
RUSSIAN = Tongue(
    newest=r"сам\w+ (?:нов|свеж|последн)\w+|новейш\w+|недавно|свеж(?:ий|ая|ее|ие|их)|что нового"
    r"|в последнее время",
    last=r"последн\w+|недавн\w+",
    things=r"изменени\w+|коммит\w*|верси\w+|релиз\w*|выпуск\w*|исправлени\w+|обновлени\w+|правк\w+"
    r"|патч\w*|запис\w+"
    r"|решени\w+|встреч\w+|замет\w+|сообщени\w+|раз|слияни\w+|нововведени\w+",
    releases=r"верси\w+|релиз\w*|выпуск\w*|выпущен\w*|что нового",
    records=r"решени\w+|решил\w*|встреч\w+|замет\w+|сообщени\w+|сказал\w*|договорил\w+",
    several=r"изменения|изменений|коммиты|релизы|исправления|обновления|правки|патчи",
    said=r"что|как\w{2,3}|кто|когда|было|был[аи]?|есть|в|во|на|о|об|по|для|с|со|к|из|и|это\w*|наш\w*|мы"
    r"|проект\w*|репозитори\w+"
    r"|измени\w+|добавил\w*|добавлен\w*|сделан\w*|внес\w+|произошл\w+|исправлен\w*|сам\w{2}|в",
    code=r"где (?:находится|находятся|хранится|происходит|реализован\w*|вычисля\w+|проверя\w+|определ\w+|в)"
    r"|в как\w{2,3} (?:файл\w*|функци\w+|класс\w*|метод\w*|модул\w*)|как\w{2,3} (?:функци\w+|класс\w*"
    r"|метод\w*|модул\w*)"
    r"|реализ\w+|исходн\w+ код\w*|как (?:работа\w+|вычисля\w+|определя\w+|реализован\w*|устроен\w*)"
    r"|что происходит",
    use=r"как (?:мне|можно|установить|настроить|использовать|добавить|включить|отключить|создать|запустить)"
    r"|документаци\w+|руководств\w+|инструкци\w+|установить|настроить|настройк\w+|включить|отключить",
    history=r"почему|зачем|по какой причине|когда был\w*|удал[её]н\w*|удалил\w*|изменил\w*|больше не",
    commits=r"как\w{2,3} (?:коммит\w*|пулл?-?реквест\w*)",
    tests=r"тест\w*",
)
JAPANESE = Tongue(
    newest=r"最近(?![傍接]|(?:最も)?使(?:わ|用)|隣)|最新|直近|いちばん新し(?:い|く)|一番新し(?:い|く)"
    r"|もっとも新し(?:い|く)|最も新し(?:い|く)",
    last=r"最後[のに]?|前回の?",
    things=r"変更(?:点|履歴)?|変わ(?:った|りました)|コミット|更新(?:履歴)?|リリース(?:ノート)?|バージョン"
    r"|修正|版|追加|改善|マージ"
    r"|プルリク(?:エスト)?|決定(?:事項)?|会議|議事録|メモ|メッセージ|決め",
    releases=r"リリース|バージョン|版",
    records=r"決定|決め|決まっ|会議|議事録|メモ|メッセージ|言っ|話し",
    said=r"何|誰|内容|件|変わり?|関(?![数係連心所税東西])|教え|行|機能|プロジェクト|リポジトリ|一番|最も"
    r"|新し(?:い|く)|加え",
    code=r"どこ(?:で|に)|どの(?:関数|クラス|メソッド|ファイル|モジュール|コード)|実装|ソースコード"
    r"|どのように(?!すれ|して|使|設定|追加|インストール)|どうやって(?!使|設定|追加|インストール)|仕組み"
    r"|場合はどうな|するとどうな",
    use=r"には[?]?$|方法|どうすれば|どのようにすれば|使い(?:方|ます)|使う|どう使|ドキュメント|手順"
    r"|インストール|設定|有効に|無効に|でき(?:ます|る)",
    history=r"なぜ|どうして(?!も)|何故|理由|いつ(?!も)|経緯|廃止|削除され|導入され|変更され|変わった",
    commits=r"どの(?:コミット|プルリク(?:エスト)?|PR)",
    tests=r"テスト",
    needs=r"[\u3040-\u30ff]",
    is_spaced=False,
)
CHINESE = Tongue(
    newest=r"最近(?![邻鄰傍接点點]|公共|最[少久]|距离|距離|使用|似)|最新|近期|近来|近來|新近|有什么新"
    r"|有什麼新",
    last=r"最后(?:一[次个條条])?|最後(?:一[次個條])?|上一?[次个個]",
    things=r"变更|變更|更改|改动|改動|修改|提交|更新|版本|发布|發布|發佈|修复|修復|变化|變化|合并|合併"
    r"|决定|決定|会议|會議|笔记|消息|记录|紀錄|功能",
    releases=r"版本|发布|發布|發佈|发行|發行|版(?!权|權)",
    records=r"决定|決定|会议|會議|笔记|筆記|消息|说|說",
    said=r"什么|什麼|哪些|哪个|哪個|怎么样|怎麼樣|一次|一个|一個|次|(?<!目)的|了|是|有|吗|嗎|呢|请问"
    r"|告诉我|内容|做|这个|项目|專案|仓库",
    code=r"在哪(?:里|裡|个|個|儿)?|哪(?:个|個)(?:函数|函數|类|類|方法|文件|檔案|模块|模組)|实现|實現"
    r"|源代?码|原始碼"
    r"|(?:如何|怎么|怎麼|怎样)(?:计算|計算|工作|判断|判斷|决定|處理|处理|检测|检查|运作)|会发生什么",
    use=r"(?:如何|怎么|怎麼|怎样)(?:使用|用|安装|安裝|配置|设置|設定|添加|新增|启用|啟用|禁用|创建)"
    r"|我(?:如何|怎么|怎麼)|文档|文檔|文件说明|手册|教程|步骤|安装|安裝|配置|可以吗",
    history=r"为什么|為什麼|为何|為何|原因|什么时候|什麼時候|何时|移除|被删|废弃|引入|不再",
    commits=r"哪(?:个|個|次|些)(?:提交|合并请求|PR)",
    tests=r"测试|測試|单测",
    needs=r"^[^\u3040-\u30ff]*\Z",
    is_spaced=False,
)
KOREAN = Tongue(
    newest=r"최근(?![접린])|최신|가장 새로운|요즘",
    last=r"마지막|지난",
    things=r"변경(?: ?사항)?|커밋|업데이트|갱신|버전|릴리[스즈]|배포|수정(?: ?사항)?|추가|병합|결정|회의"
    r"|메모|메시지|바뀐|기능",
    releases=r"버전|릴리[스즈]|배포|출시",
    records=r"결정|회의|메모|메시지|말했|정했",
    said=r"무엇(?:인가요|입니까|이)?|뭐(?:예요|야|가)?|어떤|누가|언제|사항|내용|것|입니까|인가요|되었나요"
    r"|됐나요|했나요|있나요|알려"
    r"|줘|주세요|프로젝트|저장소|한|된|들",
    code=r"어디(?:에서|에|서|입니까|인가요)|어느 (?:함수|클래스|메서드|파일|모듈)|어떤 (?:함수|클래스"
    r"|메서드|파일|모듈)|구현|소스 ?코드"
    r"|어떻게 (?:계산|동작|작동|결정|처리|감지)",
    use=r"어떻게 (?:사용|설치|설정|추가|하나요|해야|쓰|만들)|방법|문서|설명서|가이드|설치|설정|사용법"
    r"|할 수 있",
    history=r"왜|이유|언제|제거|삭제된|도입|변경된|더 이상",
    commits=r"(?:어떤|어느) (?:커밋|PR|풀 ?리퀘스트)",
    tests=r"테스트",
    needs=r"[\uac00-\ud7af]",
    is_spaced=False,
)
TONGUES = (GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, RUSSIAN, JAPANESE, CHINESE, KOREAN)
"""In the order in which they are tried."""
